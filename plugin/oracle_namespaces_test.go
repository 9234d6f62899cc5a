package plugin

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
)

// configureNamespaces gives the oracle the limits of namespaces, and what they have when the
// session opens.
func (m *oracleSession) configureNamespaces(c workload.Cluster) {
	limits := map[string]oracle.Amounts{}
	for _, q := range c.Queues {
		texts := map[string]map[string]resource.Quantity{}
		for _, key := range []string{policy.NamespaceCapabilityKey, card.NamespaceKey} {
			if text, given := q.Annotations[key]; given {
				values := map[string]resource.Quantity{}
				if json.Unmarshal([]byte(text), &values) == nil {
					texts[key], limits[q.Name] = values, oracle.Amounts{}
				}
			}
		}
		for name, quantity := range texts[policy.NamespaceCapabilityKey] {
			switch {
			case name == oracle.Memory:
				limits[q.Name][name] = float64(quantity.Value())
			case name == oracle.CPU || m.own.variant.Scalars:
				limits[q.Name][name] = float64(quantity.MilliValue())
			}
		}
		for name, quantity := range texts[card.NamespaceKey] {
			if m.own.Cards != nil {
				limits[q.Name][cardKey(name)] = float64(quantity.MilliValue())
			}
		}
	}
	var jobs []oracle.NamespaceJob
	for _, job := range m.sortedJobs() {
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
		of := oracle.NamespaceJob{Queue: j.Queue, Namespace: job.Namespace, Allocated: has, Terminating: terminating, Elastic: placed.Minus(j.Min)}
		if j.Min != nil && (j.Inqueue && !j.Overdue || j.Running && members >= j.MinMember) {
			of.Inqueue = j.Min.Minus(placed).Minus(gated)
		}
		jobs = append(jobs, of)
	}
	m.namespaces = oracle.NewNamespaces(m.oracle, limits, jobs)
}

// compareNamespaces compares what each namespace has in each queue with a limit. As those of
// queues, inqueue and elastic of jobs with cards are left out.
func (m *oracleSession) compareNamespaces() {
	if m.own.Intake.Namespaces == nil {
		return
	}
	for account, place := range m.own.Intake.Namespaces.Quota.Places() {
		queue, ix := m.own.Index.Name(place.Queue), &m.own.Intake.Namespaces.Quota.Accounts
		m.same(m.namespaces.Allocated(queue, place.Namespace), ix.Allocated(account), true, "allocated of ", place.Namespace, " in ", queue)
		if !m.carded() {
			m.same(m.namespaces.Inqueue(queue, place.Namespace), ix.Inqueue.Row(account), false, "inqueue of ", place.Namespace, " in ", queue)
		}
	}
}
