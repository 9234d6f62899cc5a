package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
)

const explainLong = `Shows for each waiting job which rule refuses it, at which queue of its path, with
the numbers, and what has to change. Shows for a running job which jobs can
reclaim it.

The answers come from the scheduler's hooks: its enqueue action runs on the
snapshot, and each admitted job is tried on its own, as if no other job were
waiting.`

const explainExamples = `  # All jobs that wait
  cardctl explain

  # One job, one pod, or all of a queue, in files
  cardctl explain job train -f dump.json
  cardctl explain pod train-worker-0 -f dump.json
  cardctl explain queue research -f nodes.yaml -f queues.yaml -f jobs/`

// subject is the object that explain is about.
type subject struct{ kind, name string }

func newExplain(s *source) *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain [job|pod|queue [NAME]]", Short: "Why jobs wait, and what would have to change", Long: explainLong, Example: explainExamples,
		ValidArgs: []string{"job", "pod", "queue"},
		Args:      cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			about, err := subjectOf(arguments)
			if err != nil {
				return err
			}
			world, configuration, err := s.load(cmd.Context())
			if err != nil {
				return err
			}
			return s.explain(about, world, configuration)
		},
	}
	s.bind(cmd, formats...)
	return cmd
}

func subjectOf(arguments []string) (subject, error) {
	about := subject{kind: "job"}
	if len(arguments) == 0 {
		return about, nil
	}
	about.kind, about.name, _ = strings.Cut(arguments[0], "/")
	if len(arguments) == 2 {
		about.name = arguments[1]
	}
	for kind, names := range map[string][]string{
		"job":   {"job", "jobs", "podgroup", "podgroups", "pg"},
		"pod":   {"pod", "pods", "po"},
		"queue": {"queue", "queues", "q"},
	} {
		if slices.Contains(names, about.kind) {
			about.kind = kind
			return about, nil
		}
	}
	return about, fmt.Errorf("cannot explain a %q: only a job, a pod or a queue", about.kind)
}

func (s *source) explain(about subject, world *engine.World, configuration *engine.Configuration) error {
	wanted, err := about.filter(world, s.namespace())
	if err != nil {
		return err
	}
	progress := newProgress(s.streams.ErrOut)
	findings := explain.Jobs(world, configuration, explain.Options{
		Wanted: wanted, Claims: about.kind == "job" && about.name != "" || about.kind == "pod" && about.name != "",
		Progress: func(done, all int) { progress.report("jobs", done, all) },
	})
	progress.done()
	if about.name != "" && about.kind != "queue" && len(findings) == 0 {
		return fmt.Errorf("no %s %q in the input", about.kind, about.name)
	}
	out := s.streams.Out
	switch {
	case s.output == asJSON || s.output == asYAML:
		return printData(out, s.output, document{"ExplanationList", append([]explain.Finding{}, findings...)})
	case about.name != "" && about.kind != "queue":
		for i := range findings {
			if i > 0 {
				fmt.Fprintln(out)
			}
			describe(out, &findings[i])
		}
		return nil
	case len(findings) == 0:
		fmt.Fprintln(out, "No job waits.")
		return nil
	}
	t := table{columns: columns("NAMESPACE", "JOB", "QUEUE", "STATE", "(PHASE)", "(STAGE)", "RULE", "LEVEL", "PLACED", "WAITING", "(MINIMUM)", "(FIT)", "MESSAGE")}
	for _, f := range findings {
		t.add(f.Namespace, f.Owner, f.Queue, f.State, f.Phase, f.Stage, f.Rule, f.Level, f.Pods.Placed, f.Pods.Waiting, f.Pods.Minimum, f.Pods.Fit, f.Message)
	}
	return t.print(out, s.output)
}

// filter selects the jobs of a subject: all waiting jobs, those of a queue and the
// queues below it, or one job by its name.
func (about subject) filter(world *engine.World, namespace string) (func(*explain.Finding) bool, error) {
	in := func(f *explain.Finding) bool { return namespace == "" || f.Namespace == namespace }
	waits := func(f *explain.Finding) bool { return in(f) && f.State == explain.Waiting }
	switch {
	case about.name == "":
		return waits, nil
	case about.kind == "queue":
		below, err := subtree(world, about.name)
		return func(f *explain.Finding) bool { return waits(f) && below[f.Queue] }, err
	case about.kind == "pod":
		groups := map[string]bool{}
		for _, g := range world.Groups {
			for _, pod := range g.Pods {
				if pod.Name == about.name || pod.Namespace+"/"+pod.Name == about.name {
					groups[string(g.ID())] = true
				}
			}
		}
		return func(f *explain.Finding) bool { return in(f) && groups[f.Namespace+"/"+f.Name] }, nil
	}
	return func(f *explain.Finding) bool { return in(f) && f.Matches(about.name) }, nil
}

// subtree is a queue and all below it.
func subtree(world *engine.World, name string) (map[string]bool, error) {
	below := map[string]bool{name: true}
	for grew := true; grew; {
		grew = false
		for _, q := range world.Queues {
			if !below[q.Name] && below[q.Spec.Parent] {
				below[q.Name], grew = true, true
			}
		}
	}
	if world.Queue(name) == nil {
		return nil, fmt.Errorf("no queue %q in the input", name)
	}
	return below, nil
}

// podsOf counts the pods of a job in words.
func podsOf(f *explain.Finding) string {
	switch {
	case f.State == explain.Finished && f.Pods.Total == 0:
		return "none left"
	case f.State == explain.Finished:
		return fmt.Sprintf("%d, of which none waits", f.Pods.Total)
	case f.Pods.Total == 0:
		return fmt.Sprintf("none yet; %d needed to start", f.Pods.Minimum)
	}
	return fmt.Sprintf("%d, of which %d placed and %d waiting; %d needed to start", f.Pods.Total, f.Pods.Placed, f.Pods.Waiting, f.Pods.Minimum)
}

// describe prints one finding as kubectl describes an object.
func describe(out io.Writer, f *explain.Finding) {
	line := func(name, text string) { fmt.Fprintf(out, "%-11s %s\n", name, text) }
	line("Job:", f.Namespace+"/"+f.Owner)
	podGroup := f.Name
	if f.Ended == "" { // else it can be deleted
		podGroup += ", " + f.Phase
	}
	line("PodGroup:", podGroup)
	line("Queue:", f.Queue)
	state := string(f.State)
	if detail := f.Ended + string(f.Stage); detail != "" { // a job that has ended is at no stage
		state += fmt.Sprintf(" (%s)", detail)
	}
	line("State:", state)
	line("Pods:", podsOf(f))
	if f.Rule != "" {
		level := ""
		if f.Level != "" {
			level = " at queue " + f.Level
		}
		line("Rule:", string(f.Rule)+level)
		line("Why:", f.Message)
	}
	if f.Pod != "" {
		line("Pod:", fmt.Sprintf("%s is the first that is refused; %d could be placed", f.Pod, f.Pods.Fit))
	}
	list := func(name string, rows []string) {
		for _, row := range rows {
			line(name, "- "+row)
			name = ""
		}
	}
	var nodes []string
	for _, n := range f.Nodes {
		nodes = append(nodes, fmt.Sprintf("%d (%s): %s", n.Count, strings.Join(n.Names, ", "), n.Why))
	}
	list("Nodes:", nodes)
	list("To change:", f.Advice)
	if f.Safety != "" {
		line("Reclaim:", f.Safety)
	}
	var claims []string
	for _, c := range f.Claims {
		claims = append(claims, fmt.Sprintf("%s in queue %s can reclaim %s", c.Owner, c.Queue, strings.Join(c.Pods, ", ")))
	}
	list("Claims:", claims)
}
