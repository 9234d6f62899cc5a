// Command week replays made weeks of a cluster. It measures the work that reclaim loses in Volcano's order of
// victims, and with victimOrder: leastWork.
//
//	go run ./bench/week > bench/results/week.txt
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"time"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"
	"volcano.sh/volcano/pkg/scheduler/plugins/priority"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/offline/replay"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/trace"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// The cluster: nodes with cards of one model, and three queues that lend to one another.
const (
	nodes        = 16
	cardsPerNode = 8
	week         = 7 * 24 * time.Hour
	gpu          = "nvidia.com/gpu"
	model        = "H"
)

// queues deserve the cluster together, and may borrow all of it.
var queues = []struct {
	name     string
	deserved int
	// Jobs that are submitted in an hour, at night and by day, and their typical runtime in hours.
	night, day, hours float64
}{
	{"serving", 64, 0.4, 2.6, 6},
	{"research", 40, 1.1, 0.8, 8},
	{"batch", 24, 2, 0.4, 5},
}

func main() {
	seeds := flag.Int("seeds", 5, "the number of weeks for each order")
	flag.Parse()
	if err := report(os.Stdout, *seeds, week); err != nil {
		log.Fatal(err)
	}
}

// report replays weeks, and writes a table. Each order has a course of its own.
func report(w io.Writer, seeds int, length time.Duration) error {
	fmt.Fprintf(w, "Volcano %s, %d nodes with %d cards, weeks %d\n\n", release.Built(), nodes, cardsPerNode, seeds)

	fmt.Fprintln(w, "gang spares  victimOrder  evicted pods  reclaimed cards  pod-hours lost  card-hours lost  "+
		"pod-hours per card  card-hours per card  longest lock-out")

	for _, spares := range []string{"minimums", "nothing"} {
		for _, order := range []string{"volcano", "leastWork"} {
			l := measure(order, spares == "nothing", seeds, length)
			each := float64(max(1, l.cards)) // no division by zero

			_, err := fmt.Fprintf(w, "%-11s  %-11s  %12d  %15d  %14.0f  %15.0f  %18.2f  %19.2f  %16v\n",
				spares, order, l.evicted, l.cards, l.podHours, l.cardHours, l.podHours/each, l.cardHours/each, l.locked)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// losses add up the losses of several weeks.
type losses struct {
	evicted, cards      int
	podHours, cardHours float64
	locked              time.Duration // the longest lock-out
}

// measure replays weeks with an order of victims.
func measure(order string, sparesNothing bool, seeds int, length time.Duration) (l losses) {
	for seed := range uint64(seeds) {
		r := replay.Run(context.Background(), setup(order, sparesNothing, seed),
			trace.Make(seed, length, math.MaxInt, loads()))

		l.evicted += r.Evicted
		l.cards += int(r.Reclaimed)
		l.podHours += r.LostPodHours
		l.cardHours += r.LostCardHours
		l.locked = max(l.locked, r.LockOut.Time)
	}
	return l
}

// loads returns the jobs of the queues.
func loads() (all []trace.Load) {
	for _, q := range queues {
		all = append(all, trace.Load{
			Queue: q.name,
			Card:  model,
			Node:  cardsPerNode,
			Most:  4 * cardsPerNode,
			Night: q.night,
			Day:   q.day,
			Hours: q.hours,
		})
	}
	return all
}

// setup returns the cluster, and a scheduler with an order of victims. If gang spares nothing, reclaim may break
// jobs.
func setup(order string, sparesNothing bool, seed uint64) replay.Setup {
	framework.RegisterPluginBuilder(gang.PluginName, gang.New)
	framework.RegisterPluginBuilder(priority.PluginName, priority.New)

	s := replay.Setup{
		Plugin:  plugin.Name,
		Seed:    seed,
		Tiers:   offline.Tiers(false, priority.PluginName, gang.PluginName, plugin.Name),
		Actions: []framework.Action{enqueue.New(), allocate.New(), plugin.NewReclaim()},
	}

	options := s.Tiers[0].Plugins
	options[2].Arguments = framework.Arguments{"victimOrder": order, "unsetCapability": "unlimited"}
	if no := false; sparesNothing {
		options[1].EnabledReclaimable = &no
	}

	for i := range nodes {
		s.Nodes = append(s.Nodes, cluster.Node(workload.Node{
			Name:        fmt.Sprintf("n%02d", i),
			Labels:      map[string]string{"nvidia.com/gpu.product": model},
			Allocatable: workload.Resources{"cpu": 128000, "memory": 1 << 40, "pods": 110, gpu: cardsPerNode},
		}))
	}

	for _, q := range queues {
		annotations := map[string]string{
			card.QuotaKey:     fmt.Sprintf(`{"%s":%d}`, model, nodes*cardsPerNode),
			card.DeservedKey:  fmt.Sprintf(`{"%s":%d}`, model, q.deserved),
			card.GuaranteeKey: fmt.Sprintf(`{"%s":0}`, model),
		}
		queue := workload.Queue{Name: q.name, Weight: 1, Annotations: annotations}
		s.Queues = append(s.Queues, cluster.Queue(queue, ""))
	}
	return s
}
