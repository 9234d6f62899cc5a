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
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// configureHolders gives the oracle the limits of holders, and what they have when the
// session opens.
func (m *oracleSession) configureHolders(c workload.Cluster) {
	limits := map[string]oracle.Limits{}
	for _, q := range c.Queues {
		of := oracle.Limits{}
		if namespace := m.namespaceLimit(q); namespace != nil {
			of["namespace"] = map[string]oracle.Amounts{"*": namespace}
		}
		var by map[string]map[string]map[string]float64
		if json.Unmarshal([]byte(q.Annotations[card.HolderKey]), &by) == nil && m.Own.Cards != nil {
			for key, values := range by {
				of[key] = map[string]oracle.Amounts{}
				for value, cards := range values {
					of[key][value] = nil
					if len(cards) > 0 {
						of[key][value] = oracle.Amounts{}
					}
					for name, n := range cards {
						of[key][value][cardKey(name)] = 1000 * n
					}
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

// namespaceLimit returns what a queue lets each namespace have, nil for no limit.
func (m *oracleSession) namespaceLimit(q workload.Queue) (limit oracle.Amounts) {
	texts := map[string]map[string]resource.Quantity{}
	for _, key := range []string{policy.NamespaceCapabilityKey, card.NamespaceKey} {
		if text, given := q.Annotations[key]; given {
			values := map[string]resource.Quantity{}
			if json.Unmarshal([]byte(text), &values) == nil {
				texts[key], limit = values, oracle.Amounts{}
			}
		}
	}
	for name, quantity := range texts[policy.NamespaceCapabilityKey] {
		switch {
		case name == oracle.Memory:
			limit[name] = float64(quantity.Value())
		case name == oracle.CPU || m.Own.Variant.Scalars:
			limit[name] = float64(quantity.MilliValue())
		}
	}
	for name, quantity := range texts[card.NamespaceKey] {
		if m.Own.Cards != nil {
			limit[cardKey(name)] = float64(quantity.MilliValue())
		}
	}
	return limit
}

// drawHolders writes on some jobs, or on their pods, whose they are.
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

// compareHolders compares what each holder has in each queue with a limit. As those of
// queues, inqueue and elastic of jobs with cards are left out.
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
