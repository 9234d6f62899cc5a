package model

import (
	"regexp"

	v1 "k8s.io/api/core/v1"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// Evicted is a pod that the scheduler evicted.
type Evicted struct {
	input.Evicted
	Owner string `json:"owner,omitempty"`
	Queue string `json:"queue,omitempty"`
	// For is the job that it was evicted for, if the scheduler recorded it.
	For []engine.Taker `json:"for,omitempty"`
}

// past completes the evictions of a reading with the jobs that they were for. The message of an eviction has the job.
// It moves to For: not every viewer may see it.
func (m *Model) past() {
	m.Past = []Evicted{}
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

		text, claimant := report.ClaimantIn(e.Why)
		if claimant != nil {
			row.Why = text
			row.For = []engine.Taker{m.taker(claimant)}
		}
		m.Past = append(m.Past, row)
	}
}

// taker returns the job of an eviction. If its reason has only the UID, and the job is gone, it has a queue alone.
func (m *Model) taker(c *report.Claimant) engine.Taker {
	namespace, podGroup := c.Namespace, c.PodGroup
	for _, g := range m.Objects.PodGroups {
		if c.UID != "" && g.UID == c.UID {
			namespace, podGroup = g.Namespace, g.Name
		}
	}

	taker := engine.Taker{Namespace: namespace, Queue: m.existing(c.Queue)}
	switch f := m.Job(namespace, podGroup); {
	case f != nil:
		taker.Owner = f.Owner
	case podGroup != "":
		taker.Owner = ownerOf(podGroup)
	}
	return taker
}

// ofJob matches the PodGroup of a Volcano job: the name of the job and its UID.
var ofJob = regexp.MustCompile(`^(.+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// ownerOf returns the owner of the PodGroup of a job that is gone.
func ownerOf(podGroup string) string {
	if found := ofJob.FindStringSubmatch(podGroup); found != nil {
		return "Job/" + found[1]
	}
	return "PodGroup/" + podGroup
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
