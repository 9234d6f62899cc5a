package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/index"
)

const explainLong = `Shows for each waiting job which rule refuses it, at which queue of its path, with
the numbers, and what has to change. Shows for a running job which jobs can
reclaim it.

The answers come from the scheduler's hooks: its enqueue action runs on the
snapshot, and each admitted job is tried on its own, as if no other job were
waiting.`

const explainExamples = `  # All jobs that wait
  cardctl explain

  # Those of a namespace with a label, and from then on each change
  cardctl explain -n research -l team=vision --watch

  # One job, one pod, or all of a queue, in files
  cardctl explain job train -f dump.json
  cardctl explain pod train-worker-0 -f dump.json
  cardctl explain queue research -f nodes.yaml -f queues.yaml -f jobs/`

// subject is the object that explain is about.
type subject struct{ kind, name string }

func newExplain(s *source) *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain [job|pod|queue [NAME]]", Short: "Why jobs wait, and what would have to change", Long: explainLong, Example: explainExamples,
		ValidArgsFunction: s.completeSubject,
		Args:              cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			about, err := subjectOf(arguments)
			if err != nil {
				return err
			}
			shown := map[string]bool{}
			return s.show(cmd.Context(), func(ctx context.Context) (*result, error) {
				world, configuration, err := s.load(ctx)
				if err != nil {
					return nil, err
				}
				if err := s.checkNamespace(ctx, namespaces(world)); err != nil {
					return nil, err
				}
				return s.explain(ctx, about, world, configuration, shown)
			})
		},
	}
	s.bind(cmd, formats...)
	s.bindNamespaces(cmd)
	s.bindSelector(cmd, "Labels of the jobs to explain, or of their pods, such as app=train")
	s.bindWatch(cmd)
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

// explain explains the jobs of a subject, and those that were shown before: a job that no
// longer waits is a change.
func (s *source) explain(ctx context.Context, about subject, world *engine.World, configuration *engine.Configuration,
	shown map[string]bool) (*result, error) {
	filter, err := about.filter(world, configuration, s.namespace())
	if err != nil {
		return nil, err
	}
	selected := s.selected(world)
	wanted := func(f *explain.Finding) bool {
		id := f.Namespace + "/" + f.Name
		return shown[id] || filter(f) && selected(id)
	}
	progress := newProgress(s.streams.ErrOut)
	findings, err := explain.Jobs(ctx, world, configuration, explain.Options{
		Wanted: wanted, Reclaimers: about.kind == "job" && about.name != "" || about.kind == "pod" && about.name != "",
		Progress: func(done, all int) { progress.report("jobs", done, all) },
	})
	progress.done()
	if err != nil {
		return nil, err
	}
	if about.name != "" && about.kind != "queue" && len(findings) == 0 {
		return nil, about.unknown(world, s.namespace())
	}
	r := &result{data: document{"ExplanationList", append([]explain.Finding{}, findings...)}}
	switch {
	case about.name != "" && about.kind != "queue":
		r.text = describeAll(findings, widthOf(s.streams.Out))
	case len(findings) == 0:
		r.text = "No job waits.\n"
	default:
		r.rows = explanations(findings)
	}
	for _, f := range findings {
		shown[f.Namespace+"/"+f.Name] = true
	}
	return r, nil
}

func explanations(findings []explain.Finding) *table {
	t := &table{columns: columns("NAMESPACE", "JOB", "QUEUE", "STATE", "(PHASE)", "(STAGE)", "RULE", "LEVEL", "PLACED", "WAITING", "(MINIMUM)",
		"(FIT)", "AGE", "MESSAGE")}
	for _, f := range findings {
		message := f.Message
		if message == "" && len(f.Behind) > 0 {
			message = f.Behind[0].String()
		}
		t.add(f.Namespace, f.Owner, f.Queue, f.State, f.Phase, f.Stage, f.Rule, f.Level, f.Pods.Placed, f.Pods.Waiting, f.Pods.Minimum,
			f.Pods.Fit, age(&f), message)
	}
	return t
}

// age returns the time since a waiting job was created, "" for a manifest.
func age(f *explain.Finding) string {
	if f.Since == nil {
		return ""
	}
	return duration.HumanDuration(time.Since(f.Since.Time))
}

// selected selects jobs by --selector.
func (s *source) selected(world *engine.World) func(id string) bool {
	if s.labels.Empty() {
		return func(string) bool { return true }
	}
	matching := map[string]bool{}
	for _, g := range world.Groups {
		matching[string(g.ID())] = s.labels.Matches(g.LabelSet())
	}
	return func(id string) bool { return matching[id] }
}

// unknown is the error about a job or a pod that does not exist.
func (about subject) unknown(world *engine.World, namespace string) error {
	known := jobNames(world, namespace)
	if about.kind == "pod" {
		known = podNames(world, namespace)
	}
	return unknown(about.kind, about.name, known)
}

// unknown is the error about a name that the input does not have.
func unknown(kind, name string, known []string) error {
	return fmt.Errorf("no %s %q in the input%s", kind, name, index.DidYouMean(name, known))
}

// filter selects the jobs of a subject: all waiting jobs, those of a queue and the
// queues below it, or one job by its name.
func (about subject) filter(world *engine.World, configuration *engine.Configuration, namespace string) (func(*explain.Finding) bool, error) {
	in := func(f *explain.Finding) bool { return namespace == "" || f.Namespace == namespace }
	waits := func(f *explain.Finding) bool { return in(f) && f.State == explain.Waiting }
	switch {
	case about.name == "":
		return waits, nil
	case about.kind == "queue":
		below, err := subtree(world, configuration, about.name)
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

// subtree is a queue and all below it. A name on a path of annotations needs no Queue object.
func subtree(world *engine.World, configuration *engine.Configuration, name string) (map[string]bool, error) {
	tree, _ := world.Tree(configuration)
	top := tree.Lookup(name)
	if top == index.None || world.Queue(name) == nil && tree.IsLeaf(top) {
		return nil, unknown("queue", name, world.QueueNames())
	}
	below := map[string]bool{}
	for q := range index.Queue(tree.Len()) {
		below[tree.Name(q)] = slices.Contains(tree.Path(q), top)
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
	return fmt.Sprintf("%d, of which %d placed and %d waiting; %d needed to start", f.Pods.Total, f.Pods.Placed, f.Pods.Waiting,
		f.Pods.Minimum)
}

func describeAll(findings []explain.Finding, width int) string {
	var out strings.Builder
	for i := range findings {
		if i > 0 {
			out.WriteString("\n")
		}
		describe(&out, &findings[i], width)
	}
	return out.String()
}

// describeRisk prints how safe a running job is from reclaim, and what that would cost.
func describeRisk(f *explain.Finding, line func(name, text string)) {
	for _, of := range [][2]string{{"Reclaim:", f.Safety}, {"Notice:", f.Notice}, {"Work:", f.Unsaved}} {
		if of[1] != "" {
			line(of[0], of[1])
		}
	}
}

// describe prints one finding as kubectl describes an object, folded at a width, 0 for none.
func describe(out io.Writer, f *explain.Finding, width int) {
	line := func(name, text string) { fmt.Fprintf(out, "%-11s %s\n", name, fold(text, width, 12)) }
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
	if waits := age(f); waits != "" {
		line("Age:", waits)
	}
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
	var behind []string
	for _, b := range f.Behind {
		behind = append(behind, b.String())
	}
	list("Order:", behind)
	advice := slices.Clone(f.Advice)
	for _, h := range f.Holders {
		advice = append(advice, h.String())
	}
	list("To change:", advice)
	describeRisk(f, line)
	var reclaimers []string
	for _, c := range f.Reclaimers {
		reclaimers = append(reclaimers, fmt.Sprintf("%s in queue %s can reclaim %s", c.Owner, c.Queue, strings.Join(c.Pods, ", ")))
	}
	list("Reclaimers:", reclaimers)
}
