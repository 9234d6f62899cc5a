// Package replay replays a trace on the nodes and queues of the input, with one or two configurations of the
// scheduler, and writes what they differ in. What happens is decided by plugin/offline/replay.
package replay

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/offline/replay"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/trace"
)

// Named is a configuration with the name that the output gives it.
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
	Checkpoint     time.Duration // from one checkpoint of a pod to the next; 0: none
	Progress       func(configuration string, p replay.Progress)
}

// Check leaves out the jobs that the cluster can never have, with a note for each reason. The error is about
// queues and cards that it does not know.
func (in *Input) Check() (notes []string, err error) {
	first := in.Configurations[0]
	in.Trace.Jobs, notes, err = replay.Fit(in.Trace.Jobs, Leaves(in.World, first.Configuration), replay.Count(in.World.Nodes, first.CardLabels()))
	return notes, err
}

// Leaves are the queues that take jobs, in the order of their names.
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

// Run replays the trace with each configuration. If ctx is done, the results are partial, and configurations
// that did not begin have none.
func Run(ctx context.Context, in *Input) (results []*replay.Result, err error) {
	// Sessions make much that is garbage at once, and little that lasts: a quarter of the time goes into
	// looking at the latter.
	defer debug.SetGCPercent(debug.SetGCPercent(sparse))
	err = engine.Alone(ctx, func() error {
		for _, c := range in.Configurations {
			if ctx.Err() != nil {
				break
			}
			setup := replay.Setup{
				Nodes: in.World.Nodes, Queues: in.World.Queues, Labels: c.CardLabels(), Plugin: c.Plugin, Tiers: c.Tiers, Actions: c.Actions,
				Configurations: c.Configurations, Seed: in.Seed, Period: in.Period, Checkpoint: in.Checkpoint,
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

// sparse is the growth of the heap after which garbage is collected, in percent.
const sparse = 400

// Names maps the names of a trace to those of the cluster. The key "*" stands for all other names.
type Names struct {
	Queues map[string]string `json:"queues"`
	Cards  map[string]string `json:"cards"`
}

// ReadNames reads a file with names.
func ReadNames(file string) (*Names, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	n := &Names{}
	if err := yaml.UnmarshalStrict(text, n); err != nil {
		return nil, fmt.Errorf("%s: %s: expected the keys queues and cards, each with names of the trace and names of the cluster", file,
			strings.Join(strings.Fields(err.Error()), " "))
	}
	return n, nil
}

// Apply changes the names of jobs. A card of a list can stand for several, so a name can be a list as well.
func (n *Names) Apply(jobs []trace.Job) {
	for i := range jobs {
		jobs[i].Queue = of(n.Queues, jobs[i].Queue)
		var list []string
		for _, name := range card.ParseList(jobs[i].Card) {
			list = append(list, of(n.Cards, name))
		}
		jobs[i].Card = card.ParseList(strings.Join(list, "|")).String()
		if all, given := n.Cards[""]; len(list) == 0 && given && jobs[i].Cards > 0 {
			jobs[i].Card = all
		}
	}
}

func of(names map[string]string, name string) string {
	if other, found := names[name]; found {
		return other
	}
	return cmp.Or(names["*"], name)
}

// Make draws a trace that keeps a part of the cluster busy: each queue has jobs for what it deserves of each
// card, at other times of the day than its neighbours.
func Make(w *engine.World, c *engine.Configuration, seed uint64, jobs int, busy float64) []trace.Job {
	const hours, years = 2, 10
	stock := replay.Count(w.Nodes, c.CardLabels())
	var loads []trace.Load
	for _, name := range Leaves(w, c) {
		deserved := engine.Cards(cmp.Or(w.Queue(name).Annotations[card.DeservedKey], w.Queue(name).Annotations[card.QuotaKey]))
		for _, model := range slices.Sorted(maps.Keys(deserved)) {
			supply, found := stock[model]
			if !found || deserved[model] <= 0 {
				continue
			}
			rate := busy * min(deserved[model], supply.Cards) / (trace.MeanCards * trace.MeanHours * hours)
			load := trace.Load{Queue: name, Users: []string{name + "-a", name + "-b"}, Card: model, Node: int64(supply.Largest), Most: int64(deserved[model]),
				Night: rate * 1.5, Day: rate / 2, Hours: hours}
			if len(loads)%2 == 1 {
				load.Night, load.Day = rate/2, rate*2
			}
			loads = append(loads, load)
		}
	}
	return trace.Make(seed, years*365*24*time.Hour, jobs, loads)
}
