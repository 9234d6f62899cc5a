package page

import (
	"slices"
	"strings"
)

// unread names the content that a page lacks if a kind cannot be listed. The warnings about the input have
// the cause.
var unread = map[string]string{
	"nodes":     "Nodes cannot be listed: cards on nodes are not shown.",
	"queues":    "Queues cannot be listed: they are not shown.",
	"pods":      "Pods cannot be listed: what queues have, and who has it, is not shown.",
	"podgroups": "PodGroups cannot be listed: jobs are not shown.",
	"jobs":      "Jobs cannot be listed: those without a PodGroup are not shown.",
}

// withoutPods replaces the text about PodGroups where there are pods, which name their jobs.
const withoutPods = "PodGroups cannot be listed: jobs without pods are not shown."

// Unread notes the kinds that cannot be listed. Without PodGroups, only the jobs that pods name are known.
func (f *Frame) Unread(kinds []string, jobs bool) {
	for _, kind := range kinds {
		name, _, _ := strings.Cut(kind, ".")
		switch text := unread[name]; {
		case text == "":
		case name == "podgroups" && jobs:
			f.Lacks = append(f.Lacks, withoutPods)
		default:
			f.Lacks = append(f.Lacks, text)
		}
	}

	lacks := func(name string) bool { return slices.Contains(f.Lacks, unread[name]) }
	f.NoJobs = lacks("podgroups") || lacks("pods") && !jobs
	f.NoNodes = lacks("nodes")
}
