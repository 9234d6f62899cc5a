package main

import (
	"context"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// arguments are the arguments of a tool. Their types are its JSON schema, which permits no others.
type arguments interface{ call() *call }

// explainArguments are the arguments of explain. Without any, all jobs that wait are explained.
type explainArguments struct {
	Job       string `json:"job,omitempty" jsonschema:"a job, its PodGroup or its Deployment"`
	Pod       string `json:"pod,omitempty" jsonschema:"the job of this pod"`
	Queue     string `json:"queue,omitempty" jsonschema:"the jobs that wait in this queue or below it"`
	Setting   string `json:"setting,omitempty" jsonschema:"what a setting does, and its values here"`
	Namespace string `json:"namespace,omitempty" jsonschema:"only these jobs; needed with rights in it alone"`
	Selector  string `json:"selector,omitempty" jsonschema:"only jobs with these labels, such as app=train"`
}

func (a explainArguments) call() *call {
	return newCall("explain", "Ask for one job, pod, queue or namespace, or for labels.").
		about("job", a.Job).about("pod", a.Pod).about("queue", a.Queue).about("setting", a.Setting).
		flag("namespace", a.Namespace).flag("selector", a.Selector)
}

// simulateArguments are the arguments of simulate. It needs one of the changes or the time.
type simulateArguments struct {
	Manifests string   `json:"manifests,omitempty" jsonschema:"objects to add or replace, as YAML or JSON"`
	Set       []string `json:"set,omitempty" jsonschema:"such as queue/lab:cards.NVIDIA-H200=5"`
	Remove    []string `json:"remove,omitempty" jsonschema:"job/NAME, queue/NAME or node/NAME"`
	At        string   `json:"at,omitempty" jsonschema:"a time for windows, such as 2026-12-01T08:00Z"`
	Namespace string   `json:"namespace,omitempty" jsonschema:"only jobs of this namespace"`
	All       bool     `json:"all,omitempty" jsonschema:"also what stays as it is"`
}

func (a simulateArguments) call() *call {
	return newCall("simulate", "Ask for one namespace, and without all.").
		manifests("add", a.Manifests).each("set", a.Set).each("remove", a.Remove).
		flag("at", a.At).flag("namespace", a.Namespace).all(a.All)
}

// validateArguments are the arguments of validate.
type validateArguments struct {
	Manifests string `json:"manifests,omitempty" jsonschema:"YAML or JSON to check instead of the cluster"`
}

func (a validateArguments) call() *call {
	return newCall("validate", "Check manifests in parts.").manifests("filename", a.Manifests)
}

// auditArguments are the arguments of audit.
type auditArguments struct {
	Queue string `json:"queue,omitempty" jsonschema:"only this queue and the queues below it"`
	Days  int    `json:"days,omitempty" jsonschema:"how many days of use are judged"`
}

func (a auditArguments) call() *call {
	return newCall("audit", "Ask for one queue.").queue(a.Queue).days(a.Days)
}

// topArguments are the arguments of top.
type topArguments struct {
	Queue    string `json:"queue,omitempty" jsonschema:"only this queue and the queues below it"`
	By       string `json:"by,omitempty" jsonschema:"the holders: user, group, namespace or label:NAME"`
	Selector string `json:"selector,omitempty" jsonschema:"only queues with these labels, such as team=vision"`
}

func (a topArguments) call() *call {
	return newCall("top", "Ask for one queue.").queue(a.Queue).flag("by", a.By).flag("selector", a.Selector)
}

// cardsArguments are the arguments of cards, which has none.
type cardsArguments struct{}

func (cardsArguments) call() *call {
	return newCall("cards", "The tool top has the cards of one queue.")
}

// preflightArguments are the arguments of preflight.
type preflightArguments struct {
	Plugin string `json:"plugin,omitempty" jsonschema:"capacity-card, capacity or proportion"`
}

func (a preflightArguments) call() *call {
	return newCall("preflight", "cardctl preflight prints it in a terminal.").flag("plugin", a.Plugin)
}

// usageArguments are the arguments of usage and budget.
type usageArguments struct {
	Queue string `json:"queue,omitempty" jsonschema:"only this queue and the queues below it"`
	Card  string `json:"card,omitempty" jsonschema:"only this card, or another resource that counts"`
}

func (a usageArguments) call() *call {
	return newCall("usage", "Ask for one queue or card.").queue(a.Queue).flag("card", a.Card)
}

type budgetArguments usageArguments

func (a budgetArguments) call() *call {
	c := usageArguments(a).call()
	c.command = "budget"
	return c
}

const instructions = "Quotas of GPU cards in a Kubernetes cluster with the Volcano scheduler. " +
	"Begin with explain for a job that waits, top or cards for who has what, and simulate for a change. " +
	"No tool changes the cluster: show the user the command or the manifest instead. " +
	"Amounts are in whole cards, cores and Gi."

// newServer returns a server with all tools.
func newServer(r *runner) *mcp.Server {
	version := "unknown"
	if build, ok := debug.ReadBuildInfo(); ok {
		version = build.Main.Version
	}

	s := mcp.NewServer(&mcp.Implementation{Name: "cardctl", Title: "Quotas of Volcano's queues", Version: version},
		&mcp.ServerOptions{Instructions: instructions})

	add[explainArguments](s, r, "explain", "Why jobs wait: the rule, the queue, the numbers, and what to change. "+
		"For a running job, which jobs can reclaim its cards. Without arguments, all jobs that wait.")
	add[simulateArguments](s, r, "simulate", "What happens if objects are added, changed or removed: "+
		"which jobs start, wait or are evicted, in a copy of the cluster.")
	add[validateArguments](s, r, "validate",
		"What is wrong with queues, their annotations, jobs, and the scheduler's configuration.")
	add[auditArguments](s, r, "audit", "Which quotas, guarantees and policies nobody uses or can use.")
	add[topArguments](s, r, "top", "What each queue deserves and has, its share, policies and waiting jobs. "+
		"With by, who has which cards.")
	add[cardsArguments](s, r, "cards", "Cards by model, node and queue: which are there, free, used and unusable.")
	add[usageArguments](s, r, "usage", "Usage of queues over time, if the scheduler orders them by it.")
	add[budgetArguments](s, r, "budget", "The used and the remaining card-hours of the budgets of queues.")
	add[preflightArguments](s, r, "preflight", "What a change from Volcano's own scheduler to capacity-card would do.")
	return s
}

// add adds a tool with arguments of a type.
func add[A arguments](s *mcp.Server, r *runner, name, description string) {
	outside := false
	tool := &mcp.Tool{
		Name: name, Description: description,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &outside},
	}

	mcp.AddTool(s, tool, func(ctx context.Context, _ *mcp.CallToolRequest, a A) (*mcp.CallToolResult, any, error) {
		c := a.call()
		if c.problem != nil {
			return nil, nil, c.problem
		}

		answer, err := r.run(ctx, c)
		return answer, nil, err
	})
}
