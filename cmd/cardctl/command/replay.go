package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/replay"
	offline "github.com/capacity-card/capacity-card/plugin/offline/replay"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/trace"
)

const replayLong = `Replays a trace of jobs on the nodes and queues of the input, in virtual time: the
scheduler runs in memory, a session at each submission and at each end of a pod.
Shows what queues get and how long jobs wait. With two configurations, both are
shown side by side. Jobs and pods of the input do not count.

With --make, draws a trace for the cluster and prints it as CSV.`

const replayExamples = `  # What reclaim gains, with a report in HTML
  cardctl replay -f cluster.yaml --trace jobs.csv --conf reclaim.yaml --conf none.yaml --out report

  # A public trace, with names of this cluster
  cardctl replay -f cluster.yaml --trace cluster_log.csv --map names.yaml

  # A trace for a cluster
  cardctl replay -f cluster.yaml --make 1000 --seed 7 > jobs.csv`

// replaying are the flags of replay.
type replaying struct {
	trace, format, names, out string
	configurations            []string
	seed                      uint64
	made                      int
	busy                      float64
	period, checkpoint        time.Duration
	progress                  bool
}

func newReplay(s *source) *cobra.Command {
	f := &replaying{}
	cmd := &cobra.Command{
		Use: "replay", Short: "What queues get from a trace of jobs", Long: replayLong, Example: replayExamples,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if f.made > 0 {
				return s.makeTrace(cmd.Context(), f)
			}

			return s.replay(cmd.Context(), f)
		},
	}

	flags := cmd.Flags()
	flags.StringVar(&f.trace, "trace", "", "File with the trace, - for standard input")
	flags.StringVar(&f.format, "format", "",
		"Format of the trace: "+strings.Join(trace.Formats, ", ")+". Without it, the beginning of the file tells")
	flags.StringVar(&f.names, "map", "", "YAML file with the queues and cards of the cluster for names of the trace")
	flags.StringArrayVar(&f.configurations, "conf", nil,
		"File with a configuration of the scheduler; given twice, both are compared")
	flags.StringVar(&f.out, "out", "",
		"Directory for "+replay.ReportFile+", "+replay.ShareFile+" and "+replay.SummaryFile)
	flags.Uint64Var(&f.seed, "seed", 1, "Decides what the scheduler leaves to chance, and the jobs of --make")
	flags.IntVar(&f.made, "make", 0, "Print a made trace with so many jobs as CSV")
	flags.Float64Var(&f.busy, "busy", 0.8, "The part of what queues deserve that the jobs of --make take")
	flags.DurationVar(&f.period, "period", time.Second,
		"Time between two sessions at least; more makes a long trace faster and waits coarser")
	flags.DurationVar(&f.checkpoint, "checkpoint", 0,
		"Time from one checkpoint of a pod to the next; 0 for pods that lose all work if they are evicted")
	flags.BoolVar(&f.progress, "progress", false, "Print progress on stderr if that is no terminal, too")
	complete(cmd, "format", trace.Formats)

	s.bind(cmd, formats...)
	return cmd
}

func (f *replaying) check() error {
	switch {
	case f.format != "" && !slices.Contains(trace.Formats, f.format):
		return fmt.Errorf("--format: unknown format %q: one of %s", f.format, strings.Join(trace.Formats, ", "))
	case len(f.configurations) > 2:
		return fmt.Errorf("--conf: %d configurations: at most two are compared", len(f.configurations))
	case f.made < 0 || f.busy <= 0 || f.period <= 0 || f.checkpoint < 0:
		return errors.New("--make, --busy, --period and --checkpoint must be positive")
	case f.trace == "" && f.made == 0:
		return errors.New("nothing to replay: name a trace with --trace, or draw one with --make")
	case f.trace != "" && f.made > 0:
		return errors.New("--trace and --make exclude each other")
	}
	return nil
}

// replayed reads the cluster, without its jobs, and the configurations.
func (s *source) replayed(ctx context.Context, f *replaying) (*engine.World, []replay.Named, error) {
	objects, err := s.objects(ctx)
	if err != nil {
		return nil, nil, err
	}
	configurations, err := s.compared(objects, f)
	if err != nil {
		return nil, nil, err
	}

	objects.Pods = nil
	objects.PodGroups = nil
	objects.Jobs = nil
	objects.Deployments = nil
	world, err := engine.Build(objects)
	if err != nil {
		return nil, nil, err
	}

	s.warn(objects)
	if len(world.Nodes) == 0 || len(world.Queues) == 0 {
		return nil, nil, errors.New("the input has no Node, or no Queue: a replay needs both")
	}
	return world, configurations, nil
}

// compared reads the configurations of the flags, or else the configuration of the input.
func (s *source) compared(objects *input.Objects, f *replaying) (all []replay.Named, err error) {
	if len(f.configurations) == 0 {
		configuration, err := s.configure(objects)
		if err != nil {
			return nil, err
		}
		s.noteLeftOut(configuration)
		return []replay.Named{{Name: configuration.Plugin, Configuration: configuration}}, nil
	}

	for _, file := range f.configurations {
		configuration, err := configuredBy(file)
		if err != nil {
			return nil, fmt.Errorf("--conf: %w", err)
		}

		s.note("%s (%s)", inForce(configuration), file)
		s.noteLeftOut(configuration)
		all = append(all, replay.Named{Name: filepath.Base(file), Configuration: configuration})
	}

	// Files with one name are told apart by their paths.
	if len(all) == 2 && all[0].Name == all[1].Name {
		all[0].Name = f.configurations[0]
		all[1].Name = f.configurations[1]
	}
	return all, nil
}

func (s *source) makeTrace(ctx context.Context, f *replaying) error {
	world, configurations, err := s.replayed(ctx, f)
	if err != nil {
		return err
	}

	jobs := replay.Make(world, configurations[0].Configuration, f.seed, f.made, f.busy)
	if len(jobs) == 0 {
		return errors.New("no queue has a card quota of a card of the nodes: there are no jobs to draw")
	}
	return trace.Write(s.streams.Out, jobs)
}

func (s *source) replay(ctx context.Context, f *replaying) error {
	world, configurations, err := s.replayed(ctx, f)
	if err != nil {
		return err
	}
	tr, err := s.readTrace(f)
	if err != nil {
		return err
	}

	in := &replay.Input{
		World: world, Configurations: configurations, Trace: tr,
		Seed: f.seed, Period: f.period, Checkpoint: f.checkpoint,
	}
	notes, err := in.Check()
	if err != nil {
		return err
	}
	for _, note := range notes {
		s.warning("%s", note)
	}
	if len(in.Trace.Jobs) == 0 {
		return trace.ErrNoJobs
	}

	shown := newProgress(s.streams.ErrOut, f.progress)
	in.Progress = func(configuration string, p offline.Progress) {
		what := fmt.Sprintf("replay with %s, at %s, jobs ended", configuration, replay.Text(p.Now.Seconds()))
		shown.report(what, p.Ended, p.Jobs)
	}

	// An interrupted replay still writes its results so far.
	s.leaving.Lock()
	defer s.leaving.Unlock()
	results, err := replay.Run(ctx, in)
	shown.done()
	if err != nil {
		return err
	}

	if f.out != "" {
		if err := replay.Write(f.out, in, results); err != nil {
			return err
		}
	}
	return s.printReplay(replay.Summarise(in, results))
}

// mostProblems bounds the lines of a trace that are reported.
const mostProblems = 10

// readTrace reads the trace, and reports the lines that cannot be used.
func (s *source) readTrace(f *replaying) (*trace.Trace, error) {
	in := s.streams.In
	if f.trace != "-" {
		file, err := os.Open(f.trace)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}

	t, err := trace.Read(f.trace, in, trace.Format(f.format))
	if err != nil {
		return nil, err
	}

	for i, problem := range t.Problems {
		s.broken = true
		if i == mostProblems {
			s.line("error", "%s: %d more lines cannot be used", f.trace, len(t.Problems)-mostProblems)
			break
		}
		s.line("error", "%s", problem.Error())
	}
	for _, note := range t.Notes {
		s.warning("%s: %s", f.trace, note)
	}

	if f.names != "" {
		names, err := replay.ReadNames(f.names)
		if err != nil {
			return nil, fmt.Errorf("--map: %w", err)
		}
		names.Apply(t.Jobs)
	}
	return t, nil
}

func (s *source) printReplay(all *replay.Summary) error {
	if isData(s.output) {
		return s.print(&result{data: all})
	}
	if all.Partial {
		s.warning("the replay was interrupted: the output is partial")
	}

	tables := []*result{{rows: outcome(all)}, {rows: replayedQueues(all)}}
	if s.output == asWide {
		tables = append(tables, &result{rows: replayedWaits(all)})
	}
	return s.print(tables...)
}

// measure is a row of the outcome.
type measure struct {
	name  string
	value any
}

// measures returns the measures of a run, always in the same order.
func measures(r replay.Outcome) []measure {
	lockOut := ""
	if r.LockOut != nil {
		lockOut = replay.Text(r.LockOut.Seconds) + " of " + r.LockOut.Queue
	}

	return []measure{
		{"time", replay.Text(r.Seconds)},
		{"jobs started", fmt.Sprintf("%d of %d", r.Started, r.Submitted)},
		{"jobs ended", r.Ended},
		{"utilisation", replay.Percent(r.Utilisation)},
		{"Jain index", replay.Index(r.Jain)},
		{"Jain index of use", replay.Index(r.JainOfUse)},
		{"longest lock-out", lockOut},
		{"evicted pods", r.Evicted.Pods},
		{"jobs that began again", r.Evicted.Restarted},
		{"evicted card-hours", replay.Hours(r.Evicted.CardHours)},
	}
}

// outcome has a row for each measure and a column for each configuration.
func outcome(all *replay.Summary) *table {
	names := []string{"OUTCOME"}
	rows := make([][]any, len(measures(replay.Outcome{})))
	for _, run := range all.Runs {
		names = append(names, run.Configuration)
		for i, m := range measures(run) {
			if rows[i] == nil {
				rows[i] = []any{m.name}
			}
			rows[i] = append(rows[i], m.value)
		}
	}

	t := tableOf(names...)
	for _, row := range rows {
		t.add(row...)
	}
	return t
}

func replayedQueues(all *replay.Summary) *table {
	t := tableOf("CONFIGURATION", "QUEUE", "CARD-HOURS", "SATISFIED", "LOCK-OUT", "JOBS", "STARTED",
		"WAIT-P50", "WAIT-P95", "WAIT-MAX")
	for _, run := range all.Runs {
		for _, q := range run.Queues {
			t.add(run.Configuration, q.Queue, replay.Hours(q.CardHours), replay.Percent(q.Satisfied),
				replay.Longest(q.LockOut), q.Wait.Jobs, q.Wait.Started,
				replay.Text(q.Wait.P50), replay.Text(q.Wait.P95), replay.Text(q.Wait.Max))
		}
	}
	return t
}

func replayedWaits(all *replay.Summary) *table {
	t := tableOf("CONFIGURATION", "JOBS-OF", "NAME", "JOBS", "STARTED", "WAIT-P50", "WAIT-P95", "WAIT-MAX")
	add := func(configuration, kind string, all []replay.Wait) {
		for _, w := range all {
			t.add(configuration, kind, w.Group, w.Jobs, w.Started,
				replay.Text(w.P50), replay.Text(w.P95), replay.Text(w.Max))
		}
	}

	for _, run := range all.Runs {
		add(run.Configuration, "namespace", run.Namespaces)
		add(run.Configuration, "cards", run.Sizes)
	}
	return t
}
