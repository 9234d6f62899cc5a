package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/whatif"
	"github.com/capacity-card/capacity-card/index"
)

const explainLong = `Shows for each waiting job which rule refuses it, at which queue of its path, with
the numbers, and what has to change. Shows for a running job which jobs can
reclaim it. Shows for a setting what it does, and what it is in the cluster.

The answers come from the scheduler's hooks: its enqueue action runs on the
snapshot, and each admitted job is tried on its own, as if no other job were
waiting.

If you may only list objects of one namespace, name it with --namespace: the answers
are then what the scheduler has written into its PodGroups, pods and events.`

const explainExamples = `  # All jobs that wait
  cardctl explain

  # Those of a namespace with a label, and from then on each change
  cardctl explain -n research -l team=vision --watch

  # One job, one pod, or all of a queue, in files
  cardctl explain train -f dump.json
  cardctl explain pod train-worker-0 -f dump.json
  cardctl explain queue research -f nodes.yaml -f queues.yaml -f jobs/

  # All settings, and one with its values in the cluster
  cardctl explain setting
  cardctl explain setting inqueue-timeout`

// subject is the object that explain is about.
type subject struct{ kind, name string }

func newExplain(s *source) *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain [[job|pod|queue|setting] NAME]", Short: "Why jobs wait, and what would have to change",
		Long: explainLong, Example: explainExamples,
		ValidArgsFunction: s.completeSubject,
		Args:              cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			about, err := subjectOf(arguments)
			if err != nil {
				return err
			}

			// The list of all settings is about no cluster.
			if about == (subject{kind: "setting"}) && len(s.contexts) > 0 {
				return s.print(listSettings())
			}

			if s.watch {
				shown := map[string]bool{}
				return s.show(cmd.Context(), func(ctx context.Context) (*result, error) {
					return s.answer(ctx, about, shown)
				})
			}

			all, err := inClusters(cmd.Context(), s, func(s *source, ctx context.Context) (*result, error) {
				return s.answer(ctx, about, map[string]bool{})
			})
			if err != nil {
				return err
			}
			return printEach(s, all, func(_ *source, r *result) []*result { return []*result{r} })
		},
	}

	s.bind(cmd, named...)
	s.bindNamespaces(cmd)
	s.bindSelector(cmd, "Labels of the jobs to explain, or of their pods, such as app=train")
	s.bindWatch(cmd)
	s.bindContexts(cmd)
	return cmd
}

// answer reads the input and explains a subject, and the jobs that were shown before.
func (s *source) answer(ctx context.Context, about subject, shown map[string]bool) (*result, error) {
	if about.kind == "setting" {
		return s.explainSetting(ctx, about.name)
	}

	world, configuration, err := s.load(ctx)
	kinds := input.Forbidden(err)
	switch {
	case len(kinds) > 0 && s.namespace() != "":
		return s.explainTold(ctx, about, kinds)
	case len(kinds) > 0:
		s.note("if you may list the objects of one namespace, name it: cardctl explain -n NAMESPACE")
		return nil, err
	case err != nil:
		return nil, err
	}
	if err := s.checkNamespace(ctx, namespaces(world)); err != nil {
		return nil, err
	}
	return s.explain(ctx, about, world, configuration, shown)
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
		"job":     {"job", "jobs", "podgroup", "podgroups", "pg"},
		"pod":     {"pod", "pods", "po"},
		"queue":   {"queue", "queues", "q"},
		"setting": {"setting", "settings"},
	} {
		if slices.Contains(names, about.kind) {
			about.kind = kind
			return about, nil
		}
	}
	if len(arguments) == 1 { // the name of a job
		return subject{"job", arguments[0]}, nil
	}
	return about, fmt.Errorf("cannot explain a %q: only a job, a pod, a queue or a setting", about.kind)
}

// explain explains the jobs of a subject, and the jobs that were shown before: a job that no longer waits is a change.
func (s *source) explain(
	ctx context.Context, about subject, world *engine.World, configuration *engine.Configuration, shown map[string]bool,
) (*result, error) {
	filter, err := about.filter(world, configuration, s.namespace())
	if err != nil {
		return nil, err
	}

	selected := s.selected(world)
	one := about.name != "" && about.kind != "queue"
	progress := newProgress(s.streams.ErrOut, false)
	explained := explain.Jobs
	if one {
		explained = whatif.Explain
	}
	findings, err := explained(ctx, world, configuration, explain.Options{
		Wanted: func(f *explain.Finding) bool {
			id := f.Namespace + "/" + f.Name
			return shown[id] || filter(f) && selected(id)
		},
		Ahead:    explain.Small(world),
		Progress: func(done, all int) { progress.report("jobs", done, all) },
	})
	progress.done()
	if err != nil {
		return nil, err
	}

	if one && len(findings) == 0 {
		return nil, about.unknown(world, s.namespace())
	}

	r := &result{text: "No job waits.\n"}
	switch {
	case one:
		r.text = describeEach(findings, widthOf(s.streams.Out), (*description).finding)
	case len(findings) > 0:
		r.rows = explanations(findings)
	}

	r.data = listOf("ExplanationList", append([]explain.Finding{}, findings...))

	for _, f := range findings {
		shown[f.Namespace+"/"+f.Name] = true
	}
	return r, nil
}

func explanations(findings []explain.Finding) *table {
	t := tableOf("NAMESPACE", "JOB", "QUEUE", "STATE", "(PHASE)", "(STAGE)", "RULE", "LEVEL", "PLACED", "WAITING",
		"(MINIMUM)", "(FIT)", "AGE", "MESSAGE")

	for _, f := range findings {
		message := f.Message
		if message == "" && len(f.Behind) > 0 {
			message = f.Behind[0].String()
		}

		since := ptr.Deref(f.Since, metav1.Time{})
		t.add(f.Namespace, f.Owner, f.Queue, f.State, f.Phase, f.Stage, f.Rule, f.Level,
			f.Pods.Placed, f.Pods.Waiting, f.Pods.Minimum, f.Pods.Fit, ago(since.Time), message)
	}
	return t
}

// selected returns a function that selects jobs by --selector.
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

// unknownError is the error about a name that the input does not have.
type unknownError string

func (e unknownError) Error() string { return string(e) }

// unknown returns the error about a name. known are the names that the input has.
func unknown(kind, name string, known []string) error {
	return unknownError(fmt.Sprintf("no %s %q in the input%s", kind, name, index.DidYouMean(name, known)))
}

// filter returns a function that selects the jobs of a subject. A queue selects the waiting jobs in it and below it. A
// job or a pod selects one job. Without a name, all waiting jobs are selected.
func (about subject) filter(
	world *engine.World, configuration *engine.Configuration, namespace string,
) (func(*explain.Finding) bool, error) {
	in := func(f *explain.Finding) bool { return namespace == "" || f.Namespace == namespace }
	switch {
	case about.kind == "queue" || about.name == "": // without a name, all queues
		wanted, err := below(world, configuration, about.name)
		return func(f *explain.Finding) bool { return in(f) && f.State == explain.Waiting && wanted(f.Queue) }, err
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
