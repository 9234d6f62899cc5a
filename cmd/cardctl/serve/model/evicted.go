package model

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index/card"
)

// Evicted is a pod that the scheduler evicted.
type Evicted struct {
	input.Evicted
	Owner string         `json:"owner,omitempty"`
	Queue string         `json:"queue,omitempty"`
	For   []engine.Taker `json:"for,omitempty"` // the jobs whose pods came to the node since, for such a card
}

// past completes the evictions of a reading with the jobs that they were for.
func (m *Model) past() {
	m.Past = []Evicted{}
	if len(m.Reading.Evicted) == 0 {
		return
	}
	queues := map[string]string{} // those that exist: others are known from jobs alone
	for i := range m.Queues {
		queues[m.Queues[i].Queue] = m.Queues[i].Queue
	}
	came, again := m.cameSince(m.Reading.Evicted[len(m.Reading.Evicted)-1].Time, queues), m.again()
	for _, e := range m.Reading.Evicted {
		if pod := again[e.Namespace+"/"+e.Pod]; pod != nil && e.FromEvent {
			e.PodGroup, e.Card = pod.Annotations[scheduling.KubeGroupNameAnnotationKey], card.NameOf(pod.Annotations).String()
		}
		row := Evicted{Evicted: e}
		if f := m.Job(e.Namespace, e.PodGroup); f != nil {
			row.Owner, row.Queue = f.Owner, queues[f.Queue]
		}
		for _, a := range came[e.Node] {
			if !a.time.Before(e.Time) && a.uses(e.Card) && !slices.Contains(row.For, a.job) {
				row.For = append(row.For, a.job)
			}
		}
		m.Past = append(m.Past, row)
	}
}

// again returns the pods with the names of those that are known from events alone: controllers
// of jobs create a pod that was evicted again.
func (m *Model) again() map[string]*v1.Pod {
	all := map[string]*v1.Pod{}
	for _, e := range m.Reading.Evicted {
		if e.FromEvent {
			all[e.Namespace+"/"+e.Pod] = nil
		}
	}
	if len(all) == 0 {
		return nil
	}
	for _, pod := range m.Objects.Pods {
		if _, wanted := all[pod.Namespace+"/"+pod.Name]; wanted {
			all[pod.Namespace+"/"+pod.Name] = pod
		}
	}
	return all
}

// arrival is a pod that came to a node.
type arrival struct {
	time  time.Time
	job   engine.Taker
	cards card.List
}

// uses reports whether the pod can have one of the cards of a pod that left.
func (a arrival) uses(cards string) bool {
	return slices.ContainsFunc(card.ParseList(cards), func(name string) bool { return slices.Contains(a.cards, name) }) || cards == ""
}

// cameSince returns the pods that were placed since a time, by node.
func (m *Model) cameSince(since time.Time, queues map[string]string) map[string][]arrival {
	owners := map[string]engine.Taker{}
	for i := range m.Jobs {
		f := &m.Jobs[i]
		owners[f.Namespace+"/"+f.Name] = engine.Taker{Namespace: f.Namespace, Owner: f.Owner, Queue: queues[f.Queue]}
	}
	came := map[string][]arrival{}
	for _, pod := range m.Objects.Pods {
		owner, known := owners[pod.Namespace+"/"+pod.Annotations[scheduling.KubeGroupNameAnnotationKey]]
		for _, c := range pod.Status.Conditions {
			if known && c.Type == v1.PodScheduled && c.Status == v1.ConditionTrue && !c.LastTransitionTime.Time.Before(since) {
				came[pod.Spec.NodeName] = append(came[pod.Spec.NodeName], arrival{c.LastTransitionTime.Time, owner, card.NameOf(pod.Annotations)})
			}
		}
	}
	return came
}
