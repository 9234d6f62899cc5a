package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/workload"
)

// stepLimit bounds the time of a step of a workload.
const stepLimit = 15 * time.Minute

// peer is a published workload.
type peer struct {
	name    string // of the scenario
	cluster workload.Cluster
	pods    int
	limit   time.Duration
	plugin  string // of ours
	preempt bool   // the action preempt runs, too
	own     string // the scheduler of the peer, if it is measured as well
	measure func(context.Context, scheduler) (load.Result, error)
}

// peer measures the workload of a peer with both schedulers. A part of it is printed, and not kept.
func (o choices) peer(ctx context.Context, p peer) error {
	report := report{&load.Report{Setting: o.setting("make load SCENARIO="+p.name, p.pods)}}
	report.Nodes = len(p.cluster.Nodes)
	report.Queues = len(p.cluster.Leaves())
	report.Limit = p.limit.Seconds()

	schedulers := []scheduler{
		{"upstream", o.upstream, p.configuration(capacity), nil, nil},
		{"ours", o.ours, p.configuration(p.plugin), nil, nil},
	}
	if p.own != "" {
		schedulers = append(schedulers, scheduler{name: p.own})
	}

	err := inTurn(o.rounds, schedulers, func(round int, s scheduler) error {
		result, err := p.measure(ctx, s)
		result.Round = round
		report.Runs = append(report.Runs, result)
		return err
	})
	if err != nil {
		return err
	}

	table := peerReport{report, p.name}.Table()
	if o.part > 1 {
		fmt.Print("\n" + table)
		return nil
	}
	return write(fmt.Sprintf(peerResults, p.name, report.Volcano), report.Report, table)
}

// configuration returns a configuration with a quota plugin under which queues take back what other queues use. Volcano
// reclaims for admitted jobs alone, and the quota plugin admits none that exceeds the cluster. The plugin gang spares
// jobs of one pod.
func (p peer) configuration(plugin string) string {
	text := strings.NewReplacer(
		"enablePreemptable: false\n", "enablePreemptable: false\n    enableReclaimable: false\n",
		"enableHierarchy: true\n", "enableHierarchy: true\n    enableJobEnqueued: false\n",
	).Replace(configuration(plugin))

	if p.preempt {
		return strings.Replace(text, "allocate,", "allocate, preempt,", 1)
	}
	return text
}

// peerReport is the part of the page on the workload of a peer.
type peerReport struct {
	report
	scenario string
}

// Table has the figures of the schedulers that were measured.
func (r peerReport) Table() string {
	schedulers := slices.DeleteFunc(append([]string{kubeScheduler}, load.Schedulers...), func(scheduler string) bool {
		return !slices.ContainsFunc(r.Runs, func(run load.Result) bool { return run.Scheduler == scheduler })
	})
	return table(schedulers, peerRows[r.scenario](r.Setting), r.Values)
}

// peerRows makes the rows of the table of each workload.
var peerRows = map[string]func(load.Setting) []row[load.Result]{
	kueue: kueueRows, kai: kaiRows, backlog: backlogRows, kubeScheduler: basicRows,
}

// perSecond returns how many of n are completed in a second. Without an end, it is infinite as the time is, which a
// table prints as not reached.
func perSecond(n int, took float64) float64 {
	if math.IsInf(took, 1) {
		return took
	}
	return float64(n) / took
}

// workloads returns the page on the workloads of peers, of the results below the root of the module: of each release of
// Volcano.
func workloads(root string) (string, error) {
	all := map[string][]peerReport{}
	for scenario := range peerRows {
		reports, err := readReports(root, fmt.Sprintf(peerResults, scenario, "*"))
		if err != nil {
			return "", err
		}
		for _, report := range reports {
			all[scenario] = append(all[scenario], peerReport{report, scenario})
		}
	}
	return execute(workloadsTemplate, all)
}
