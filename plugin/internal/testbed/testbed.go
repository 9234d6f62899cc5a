// Package testbed builds small clusters for tests, and opens sessions of Volcano on them. It is for tests alone.
//
//	scene.go      a Scene: nodes, queues and jobs, added one by one; Open opens a session
//	jobs.go       what changes a job of a scene: On a node, Members, InPhase, …
//	trees.go      scenes and queues that several packages use
//	fixture.go    a Fixture: an open session, the engine in it, and what happened
//	check.go      counts the cards of all pods again, after each action
//	sequence.go   a Sequence: sessions of one scheduler on a scene that changes
//	scheduler.go  a Scheduler: the same with a clock and with stored state
//	claims.go     a ClaimModel: resource claims and devices
//	device_objects.go  devices and their requests as objects
//	devices.go    quotas of device classes
//	gates.go      queue allocation gates
//	series.go     series of metrics
//	random.go     flags of random tests, and seeds of fuzz targets
//	init.go       prepares the test binary
//
// A test in an external package, such as gates_test, uses it so:
//
//	s := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":4}`).Pods("job", "q", "A", 8, 1)
//	f := s.Open(t).Schedule(t)
//	assert.Equal(t, 4.0, f.CardsOf("q", "A"))
package testbed

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// GPU is the resource of NVIDIA's cards.
const GPU = "nvidia.com/gpu"

// OneAtATime makes Volcano's workers run one after the other, in the order of their
// tasks, and returns how to end it.
func OneAtATime() (end func()) {
	before := runtime.GOMAXPROCS(1)
	return func() { runtime.GOMAXPROCS(before) }
}

// Pinned returns arguments for the plugin with a name. Unless a names others, they are the rules of v1.14.1. Under the
// name capacity-card they also count cpu and memory of all pods, and give a queue none of what its capability does not
// set: with these arguments, more can be refused.
func Pinned(name string, a framework.Arguments) framework.Arguments {
	with := framework.Arguments{arguments.Semantics: release.V1141}
	if name == arguments.CapacityCard {
		with[arguments.CardUnlimitedCPUMemory] = false
		with[arguments.UnsetCapability] = "zero"
	}
	maps.Copy(with, a)

	rules, err := release.Parse(fmt.Sprint(with[arguments.Semantics]))
	if err == nil {
		with[arguments.Semantics] = rules // which decides with any build
	}

	return with
}

// HoldersOf returns for whom a job counts: its namespace, its user, its groups, and its label team.
func HoldersOf(job *api.JobInfo) []oracle.Holder {
	user := stated(job, func(o metav1.Object) string { return o.GetAnnotations()["volcano.sh/user"] })
	named := stated(job, func(o metav1.Object) string { return o.GetAnnotations()["volcano.sh/groups"] })
	team := stated(job, func(o metav1.Object) string { return o.GetLabels()["team"] })

	var groups []oracle.Holder
	for name := range strings.SplitSeq(named, ",") {
		group := oracle.Holder{Key: "group", Value: strings.TrimSpace(name)}
		if group.Value != "" && !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}

	if len(groups) == 0 {
		groups = []oracle.Holder{{Key: "group"}}
	}

	all := []oracle.Holder{{Key: "namespace", Value: job.Namespace}, {Key: "user", Value: user}}
	all = append(all, groups...)
	return append(all, oracle.Holder{Key: "label:team", Value: team})
}

// stated returns a text of the PodGroup of a job. If it has none, it is the first text of the pods in the order of
// texts.
func stated(job *api.JobInfo, by func(metav1.Object) string) string {
	text := by(job.PodGroup)
	if text != "" {
		return text
	}

	var texts []string
	for _, task := range job.Tasks {
		if text := by(task.Pod); text != "" {
			texts = append(texts, text)
		}
	}

	if len(texts) == 0 {
		return ""
	}

	return slices.Min(texts)
}

// Limits are limits of holders that queues of random clusters have.
var Limits = []string{
	`{"user":{"*":{"A":2}}}`,
	`{"user":{"ann":{"A":1},"*":{"A":3,"B":2}},"label:team":{"alpha":{"A":4},"":{"B":1}}}`,
	`{"group":{"g1":{"A":2},"g2":{"A":3,"B":1}}}`,
	`{"group":{"*":{"B":2},"g1":{}},"user":{"":{"A":1}}}`,
	`{"label:team":{"*":{"A":1,"B":1}}}`,
	`{"namespace":{"*":{"A":2}}}`,
	`{"namespace":{"*":{"A":1,"B":3,"cpu":"3"}},"user":{"*":{"A":2,"cpu":"2500m"}}}`,
	`{"namespace":{"*":{"cpu":"2500m","memory":"4Gi"}}}`,
	`{"namespace":{"x":{"A":0,"C":2},"*":{"nvidia.com/gpu":"2","cpu":"8"}}}`,
	"{}",
}

// ByName returns the quantities of a vector by name, without the bounds of spare
// dimensions.
func ByName(names *index.Names, x fastres.Vector) map[string]float64 {
	all := map[string]float64{}
	for d := range fastres.Dim(min(x.Len(), names.Len())) {
		if x.Get(d) != 0 && x.Get(d) != fastres.MaxQuantity {
			all[fmt.Sprint(names.IsCard(d), names.Name(d))] = x.Get(d)
		}
	}
	return all
}

// Promises returns inqueue of all queues and holders by name and dimension, and lists, the number of reservations that
// several cards can satisfy.
func Promises(ix *index.Index, in *intake.Inputs, names *index.Names, lists int) map[string]float64 {
	all := map[string]float64{"lists": float64(lists)}
	addInqueue(all, "", ix, names)
	if in.Holders != nil {
		addInqueue(all, "namespace ", &in.Holders.Quota.Accounts, names)
	}
	return all
}

// addInqueue adds inqueue of the accounts of an index. kind stands before their names.
func addInqueue(all map[string]float64, kind string, ix *index.Index, names *index.Names) {
	for q := range index.Queue(ix.Len()) {
		for d := range fastres.Dim(ix.Dims()) {
			n := ix.Inqueue.Row(q).Get(d)
			if n != 0 && int(d) < names.Len() {
				all[kind+ix.Name(q)+" "+names.Name(d)] = n
			}
		}
	}
}
