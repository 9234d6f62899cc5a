package oracle_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// configureHolders gives the oracle the limits of holders, and the amounts that they have when the session opens.
func (m *oracleSession) configureHolders(c workload.Cluster) {
	limits := map[string]oracle.Limits{}
	for _, q := range c.Queues {
		of := oracle.Limits{}
		var by map[string]map[string]map[string]any
		if json.Unmarshal([]byte(q.Annotations[card.HolderKey]), &by) == nil {
			for key, values := range by {
				of[key] = map[string]oracle.Amounts{}
				for value, amounts := range values {
					of[key][value] = m.limitOf(amounts)
				}
			}
		}
		limits[q.Name] = of
	}
	var jobs []oracle.HolderJob
	for _, job := range m.SortedJobs() {
		if !slices.Contains(m.oracle.Names(), string(job.Queue)) {
			continue
		}
		j := m.counted(job)
		has, placed, gated, members := oracle.Amounts{}, oracle.Amounts{}, oracle.Amounts{}, 0
		terminating := oracle.Amounts{}
		for _, t := range j.Tasks {
			if t.Terminating {
				terminating = terminating.Plus(t.Request)
			}
			if t.Placed || t.Terminating {
				has = has.Plus(t.Request)
			}
			if t.Placed {
				placed, members = placed.Plus(t.Request), members+1
			}
			if t.Gated {
				gated = gated.Plus(t.Request)
			}
		}
		of := oracle.HolderJob{Queue: j.Queue, Holders: testbed.HoldersOf(job), Allocated: has, Terminating: terminating, Elastic: placed.Minus(j.Min)}
		if j.Min != nil && (j.Inqueue && !j.Overdue || j.Running && members >= j.MinMember) {
			of.Inqueue = j.Min.Minus(placed).Minus(gated)
		}
		jobs = append(jobs, of)
	}
	m.holders = oracle.NewHolders(m.oracle, limits, jobs)
}

// limitOf returns the entries of a limit that the plugin counts, nil if there are none. A number counts cards, and a
// text is a quantity of a resource.
func (m *oracleSession) limitOf(amounts map[string]any) (limit oracle.Amounts) {
	set := func(key string, amount float64) {
		if limit == nil {
			limit = oracle.Amounts{}
		}
		limit[key] = amount
	}
	for name, amount := range amounts {
		cards, isCard := amount.(float64)
		switch {
		case isCard && m.Own.Cards != nil:
			set(cardKey(name), 1000*cards)
		case isCard:
		case name == oracle.Memory:
			quantity := resource.MustParse(amount.(string))
			set(name, float64(quantity.Value()))
		case name == oracle.CPU || m.Own.Variant.Scalars:
			quantity := resource.MustParse(amount.(string))
			set(name, float64(quantity.MilliValue()))
		}
	}
	return limit
}

// drawHolders writes a user, groups and a team on some jobs, or on their pods.
func drawHolders(r *rand.Rand, job *api.JobInfo) {
	draw := func(o metav1.Object) {
		annotations, labels := maps.Clone(o.GetAnnotations()), maps.Clone(o.GetLabels())
		if annotations == nil {
			annotations = map[string]string{}
		}
		if labels == nil {
			labels = map[string]string{}
		}
		annotations["volcano.sh/user"] = []string{"", "ann", "bob"}[r.IntN(3)]
		annotations["volcano.sh/groups"] = []string{"", "g1", "g2", "g1,g2", " g2 ,,g1,g2"}[r.IntN(5)]
		labels["team"] = []string{"", "alpha", "beta"}[r.IntN(3)]
		o.SetAnnotations(annotations)
		o.SetLabels(labels)
	}
	if r.IntN(2) == 0 {
		draw(job.PodGroup)
	}
	if r.IntN(2) == 0 {
		for _, id := range slices.Sorted(maps.Keys(job.Tasks)) {
			draw(job.Tasks[id].Pod)
		}
	}
}

// compareHolders compares the accounts of each holder in each queue with a limit. As in the accounts of queues, inqueue
// and elastic of jobs with cards are left out.
func (m *oracleSession) compareHolders() {
	if m.Own.Intake.Holders == nil {
		return
	}
	for account, place := range m.Own.Intake.Holders.Quota.Places() {
		queue, ix := m.Own.Index.Name(place.Queue), &m.Own.Intake.Holders.Quota.Accounts
		holder := oracle.Holder(place.Holder)
		m.same(m.holders.Allocated(queue, holder), ix.Allocated(account), true, "allocated of ", holder.String(), " in ", queue)
		if !m.carded() {
			m.same(m.holders.Inqueue(queue, holder), ix.Inqueue.Row(account), false, "inqueue of ", holder.String(), " in ", queue)
		}
	}
}
