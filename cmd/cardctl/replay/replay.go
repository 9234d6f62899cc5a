// Package replay replays a trace on the nodes and queues of the input, with one or two configurations of the scheduler.
// It writes a report that compares them. plugin/offline/replay does the replay itself.
package replay

import (
	"cmp"
	"context"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/offline/replay"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/trace"
)

// Named is a configuration with its name in the output.
type Named struct {
	Name string
	*engine.Configuration
}

// Input has the cluster, the trace and the configurations of a replay.
type Input struct {
	World          *engine.World
	Trace          *trace.Trace
	Configurations []Named // one or two
	Seed           uint64
	Period         time.Duration
	Checkpoint     time.Duration // the time between two checkpoints of a pod; 0: no checkpoints
	Progress       func(configuration string, p replay.Progress)
}

// Check leaves out the jobs that the cluster can never run, and returns a note for each reason. It returns an error for
// unknown queues and cards.
func (in *Input) Check() (notes []string, err error) {
	first := in.Configurations[0].Configuration
	supply := replay.Count(in.World.Nodes, first.Settings().Cards.Labels)
	in.Trace.Jobs, notes, err = replay.Fit(in.Trace.Jobs, Leaves(in.World, first), supply)
	return notes, err
}

// Leaves returns the queues that accept jobs, in the order of their names.
func Leaves(w *engine.World, c *engine.Configuration) []string {
	names := w.QueueNames()
	if c.Hierarchy {
		tree, _ := w.Tree(c)
		names = slices.DeleteFunc(names, func(name string) bool {
			q := tree.Lookup(name)
			return q == index.None || !tree.IsLeaf(q) || name == index.RootName
		})
	}

	slices.Sort(names)
	return names
}

// gcPercent is the growth of the heap between two garbage collections. Sessions make much garbage and few lasting
// objects. With the default of 100, scanning the lasting objects takes a quarter of the time.
const gcPercent = 400

// Run replays the trace with each configuration. If ctx is done, the last result is partial. Configurations that did
// not begin have no result.
func Run(ctx context.Context, in *Input) (results []*replay.Result, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))

	err = engine.Alone(ctx, func() error {
		for _, c := range in.Configurations {
			if ctx.Err() != nil {
				break
			}

			setup := replay.Setup{
				Nodes:          in.World.Nodes,
				Queues:         in.World.Queues,
				Labels:         c.Settings().Cards.Labels,
				Plugin:         c.Plugin,
				Tiers:          c.Tiers,
				Actions:        c.Actions,
				Configurations: c.Configurations,
				Seed:           in.Seed,
				Period:         in.Period,
				Checkpoint:     in.Checkpoint,
			}
			if in.Progress != nil {
				setup.Progress = func(p replay.Progress) { in.Progress(c.Name, p) }
			}
			results = append(results, replay.Run(ctx, setup, in.Trace.Jobs))
		}

		return nil
	})

	return results, err
}

// Make draws a trace that keeps a part of the cluster busy. Each leaf queue has jobs for its deserved amount of each
// card.
func Make(w *engine.World, c *engine.Configuration, seed uint64, jobs int, busy float64) []trace.Job {
	const hours, years = 2, 10
	stock := replay.Count(w.Nodes, c.Settings().Cards.Labels)
	var loads []trace.Load
	for _, name := range Leaves(w, c) {
		annotations := w.Queue(name).Annotations
		deserved := engine.Cards(cmp.Or(annotations[card.DeservedKey], annotations[card.QuotaKey]))
		for _, model := range slices.Sorted(maps.Keys(deserved)) {
			supply, found := stock[model]
			if !found || deserved[model] <= 0 {
				continue
			}

			rate := busy * min(deserved[model], supply.Cards) / (trace.MeanCards * trace.MeanHours * hours)
			load := trace.Load{
				Queue: name,
				Users: []string{name + "-a", name + "-b"},
				Card:  model,
				Node:  int64(supply.Largest),
				Most:  int64(deserved[model]),
				Night: rate * 1.5,
				Day:   rate / 2,
				Hours: hours,
			}
			// Neighbours are busy at different times of the day.
			if len(loads)%2 == 1 {
				load.Night = rate / 2
				load.Day = rate * 2
			}
			loads = append(loads, load)
		}
	}

	return trace.Make(seed, years*365*24*time.Hour, jobs, loads)
}
