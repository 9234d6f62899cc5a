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
	For   []engine.Taker `json:"for,omitempty"` // the jobs that took such a card of the node since
}

// past completes the evictions of a reading with the jobs that they were for.
func (m *Model) past() {
	m.Past = []Evicted{}
	if len(m.Reading.Evicted) == 0 {
		return
	}

	first := m.Reading.Evicted[len(m.Reading.Evicted)-1]
	arrivals := m.arrivals(first.Time)
	recreated := m.recreated()

	for _, e := range m.Reading.Evicted {
		if pod := recreated[e.Namespace+"/"+e.Pod]; pod != nil && e.FromEvent {
			e.PodGroup = pod.Annotations[scheduling.KubeGroupNameAnnotationKey]
			e.Card = card.NameOf(pod.Annotations).String()
		}

		row := Evicted{Evicted: e}
		if f := m.Job(e.Namespace, e.PodGroup); f != nil {
			row.Owner = f.Owner
			row.Queue = m.existing(f.Queue)
		}
		for _, a := range arrivals[e.Node] {
			if !a.time.Before(e.Time) && a.uses(e.Card) && !slices.Contains(row.For, a.job) {
				row.For = append(row.For, a.job)
			}
		}
		m.Past = append(m.Past, row)
	}
}

// existing returns the name of a queue, "" if only jobs name it.
func (m *Model) existing(queue string) string {
	if m.HasQueue(queue) {
		return queue
	}
	return ""
}

// recreated returns the pods with the names of evicted pods that are known from events alone. Controllers create an
// evicted pod again under the same name.
func (m *Model) recreated() map[string]*v1.Pod {
	pods := map[string]*v1.Pod{}
	for _, e := range m.Reading.Evicted {
		if e.FromEvent {
			pods[e.Namespace+"/"+e.Pod] = nil
		}
	}
	if len(pods) == 0 {
		return nil
	}

	for _, pod := range m.Objects.Pods {
		key := pod.Namespace + "/" + pod.Name
		if _, wanted := pods[key]; wanted {
			pods[key] = pod
		}
	}
	return pods
}

// arrival is a pod that came to a node.
type arrival struct {
	time  time.Time
	job   engine.Taker
	cards card.List
}

// uses reports whether the pod can have one of the cards of a pod that left.
func (a arrival) uses(cards string) bool {
	return cards == "" || slices.ContainsFunc(card.ParseList(cards), func(name string) bool {
		return slices.Contains(a.cards, name)
	})
}

// arrivals returns the pods of jobs that were placed since a time, by node.
func (m *Model) arrivals(since time.Time) map[string][]arrival {
	came := map[string][]arrival{}
	for _, pod := range m.Objects.Pods {
		f := m.Job(pod.Namespace, pod.Annotations[scheduling.KubeGroupNameAnnotationKey])
		if f == nil {
			continue
		}

		for _, c := range pod.Status.Conditions {
			if c.Type != v1.PodScheduled || c.Status != v1.ConditionTrue || c.LastTransitionTime.Time.Before(since) {
				continue
			}
			job := engine.Taker{Namespace: f.Namespace, Owner: f.Owner, Queue: m.existing(f.Queue)}
			arrived := arrival{c.LastTransitionTime.Time, job, card.NameOf(pod.Annotations)}
			came[pod.Spec.NodeName] = append(came[pod.Spec.NodeName], arrived)
		}
	}
	return came
}
