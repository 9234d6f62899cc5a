// Package testbed has code that tests of sessions and of worlds share. It is for tests alone.
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

// Pinned returns arguments with the rules of v1.14.1, which tests state unless they name a
// release.
func Pinned(a framework.Arguments) framework.Arguments {
	with := framework.Arguments{arguments.Semantics: release.V1141.String()}
	maps.Copy(with, a)
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
