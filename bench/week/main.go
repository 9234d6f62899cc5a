// Command week simulates a week of a cluster with real sessions of Volcano, and measures how
// much work reclaim loses in Volcano's order of victims and in that of victimOrder: leastWork.
//
//	go run ./bench/week > bench/results/week.txt
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"
	"volcano.sh/volcano/pkg/scheduler/plugins/priority"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
)

func main() {
	seeds := flag.Int("seeds", 5, "the number of weeks for each order")
	flag.Parse()
	offline.Quiet()
	if err := report(os.Stdout, *seeds, week); err != nil {
		log.Fatal(err)
	}
}

// orders are the values of victimOrder that are compared.
var orders = []string{"volcano", "leastWork"}

// report simulates weeks, and writes a table. Volcano's order decides how a week goes on; each
// session in which it evicts pods is held with both orders, on the same cluster.
func report(w io.Writer, seeds int, length time.Duration) error {
	fmt.Fprintf(w, "Volcano %s, %d nodes with %d cards, weeks %d, a session every %v\n\n", release.Built(), nodes, cardsPerNode, seeds, step)
	fmt.Fprintln(w, "gang spares  victimOrder  evicted pods  reclaimed cards  pod-hours lost  card-hours lost  "+
		"pod-hours per card  card-hours per card")
	for _, restart := range []bool{false, true} {
		sums := map[string]losses{}
		for seed := range uint64(seeds) {
			found, err := simulate(seed, restart, length)
			if err != nil {
				return err
			}
			for order, l := range found {
				sums[order] = sums[order].plus(l)
			}
		}
		for _, order := range orders {
			sum := sums[order]
			cards := float64(max(1, sum.cards))
			fmt.Fprintf(w, "%-11s  %-11s  %12d  %15d  %14.0f  %15.0f  %18.2f  %19.2f\n",
				map[bool]string{false: "minimums", true: "nothing"}[restart], order,
				sum.evictions, sum.cards, sum.podHours, sum.cardHours, sum.podHours/cards, sum.cardHours/cards)
		}
	}
	return nil
}

func (l losses) plus(m losses) losses {
	return losses{l.evictions + m.evictions, l.cards + m.cards, l.podHours + m.podHours, l.cardHours + m.cardHours}
}

// simulate runs the sessions of a week, and returns the losses with each order.
func simulate(seed uint64, restart bool, length time.Duration) (map[string]losses, error) {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 0x3eef)), restart: restart}
	framework.RegisterPluginBuilder(gang.PluginName, gang.New)
	framework.RegisterPluginBuilder(priority.PluginName, priority.New)
	conf.EnabledActionMap = map[string]bool{"enqueue": true}
	sums := map[string]losses{}
	for ; w.now < length; w.now += step {
		w.end()
		w.submit()
		for i := len(orders) - 1; i >= 0; i-- { // the first one decides how the week goes on
			before := w.clone()
			cache, err := w.schedule(orders[i])
			if err != nil {
				return nil, err
			}
			lost := w.losses
			if w.losses = (losses{}); i > 0 {
				*w = *before
			}
			if len(cache.Evicted) > 0 {
				sums[orders[i]] = sums[orders[i]].plus(lost)
			}
		}
	}
	return sums, nil
}

// schedule runs a session, and carries out what it decides.
func (w *world) schedule(order string) (*offline.Cache, error) {
	framework.RegisterPluginBuilder(plugin.Name, func(framework.Arguments) framework.Plugin {
		return plugin.New(framework.Arguments{"victimOrder": order, "unsetCapability": "unlimited"})
	})
	info, err := w.info()
	if err != nil {
		return nil, err
	}
	cache := offline.NewCache(info)
	tiers := offline.Tiers(false, priority.PluginName, gang.PluginName, plugin.Name)
	if no := false; w.restart {
		tiers[0].Plugins[1].EnabledReclaimable = &no
	}
	ssn := offline.Open(cache, tiers)
	for _, action := range []framework.Action{enqueue.New(), allocate.New(), reclaim.New()} {
		action.Execute(ssn)
	}
	jobs := ssn.Jobs
	framework.CloseSession(ssn)
	for _, j := range w.jobs {
		j.Phase = workload.Phase(jobs[api.JobID(cluster.Namespace+"/"+j.Name)].PodGroup.Status.Phase)
		w.follow(j, cache)
	}
	return cache, nil
}

// follow starts and evicts the pods of a job.
func (w *world) follow(j *job, cache *offline.Cache) {
	evicted := false
	for i := range j.Tasks {
		task := &j.Tasks[i]
		if node, bound := cache.Bound[task.Name]; bound {
			j.Phase, task.Status, task.Node, task.Started = workload.Running, workload.TaskRunning, node, at(w.now).Unix()
			j.ends[i] = w.now + j.runtime
		}
		if slices.Contains(cache.Evicted, task.Name) {
			w.losses.evictions, w.losses.cards = w.losses.evictions+1, w.losses.cards+int(j.gpus)
			evicted = true
			w.lose(j, i)
		}
	}
	if running := slices.DeleteFunc(slices.Clone(j.ends), func(ends time.Duration) bool { return ends == 0 }); !evicted ||
		len(running) >= int(j.MinMember) {
		return
	}
	for i := range j.Tasks { // the rest of a broken job works no more
		if j.ends[i] > 0 {
			w.lose(j, i)
		}
	}
	j.Phase = workload.Pending
}

// lose makes a pod start again from nothing.
func (w *world) lose(j *job, i int) {
	ran := (w.now - (j.ends[i] - j.runtime)).Hours()
	w.losses.podHours, w.losses.cardHours = w.losses.podHours+ran, w.losses.cardHours+ran*float64(j.gpus)
	j.Tasks[i].Status, j.Tasks[i].Node, j.Tasks[i].Started, j.ends[i] = workload.TaskPending, "", 0, 0
}
