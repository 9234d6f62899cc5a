// Package status writes what queues have of their cards into an annotation of their Queue objects, for programs that
// read queues.
package status

import (
	"encoding/json"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// Version is the version of the content. A field can be added to it, and none is renamed or removed.
const Version = "v1"

// Queue is the content of the annotation: a part of an item of "cardctl top -o json".
type Queue struct {
	Version string `json:"version"`
	// Waiting are the jobs in the queue and below it that are not admitted, or have pods without a node.
	Waiting int `json:"waitingJobs"`
	// Since is the time when the oldest of them was created, nil for none.
	Since     *metav1.Time `json:"waitingSince,omitempty"`
	Resources []Holding    `json:"resources"`
}

// Holding has the quantities of a resource of a queue: of a card in whole cards, of cpu in cores, of memory in bytes.
type Holding struct {
	Resource   string   `json:"resource"`
	Card       bool     `json:"card,omitempty"` // or a group of cards
	Deserved   *float64 `json:"deserved"`       // null: no bound
	Guarantee  float64  `json:"guarantee"`
	Allocated  float64  `json:"allocated"`
	Inqueue    float64  `json:"inqueue"`    // reserved for admitted jobs
	Borrowed   float64  `json:"borrowed"`   // allocated beyond deserved
	Capability *float64 `json:"capability"` // the bound in force; null: none
}

// Holdings returns the quantities of an account. Cards that the queue has nothing to do with are left out, and the
// number of pods.
func Holdings(a inspect.Account) []Holding {
	all := []Holding{}
	for _, h := range a.Holdings {
		listed := Holding{
			Resource:   h.Resource,
			Card:       h.Card,
			Deserved:   Bounded(h.Deserved),
			Guarantee:  h.Guarantee,
			Allocated:  h.Allocated,
			Inqueue:    h.Inqueue,
			Borrowed:   max(0, h.Allocated-h.Deserved),
			Capability: Bounded(h.Capability),
		}

		unrelated := h.Card && h.Allocated == 0 && h.Inqueue == 0 && h.Deserved == 0 && listed.Capability == nil
		if h.Resource != "pods" && !unrelated {
			all = append(all, listed)
		}
	}
	return all
}

// Bounded returns a bound, nil for an infinite one: JSON has no number for it.
func Bounded(x float64) *float64 {
	if math.IsInf(x, 1) {
		return nil
	}
	return &x
}

// texts returns the contents for the queues of a session, by name.
func texts(accounts []inspect.Account, jobs map[api.JobID]*api.JobInfo) map[string]string {
	waiting := countWaiting(accounts, jobs)

	all := make(map[string]string, len(accounts))
	for _, a := range accounts {
		q := Queue{Version: Version, Resources: []Holding{}}
		for _, h := range Holdings(a) {
			if h.Card {
				q.Resources = append(q.Resources, h)
			}
		}
		if w := waiting[a.Queue]; w.jobs > 0 {
			q.Waiting = w.jobs
			q.Since = &metav1.Time{Time: w.since.UTC()}
		}

		text, err := json.Marshal(q)
		if err == nil { // all numbers are finite
			all[a.Queue] = string(text)
		}
	}
	return all
}

// wait has the waiting jobs of a queue.
type wait struct {
	jobs  int
	since time.Time
}

// countWaiting counts the waiting jobs of each queue and of the queues below it.
func countWaiting(accounts []inspect.Account, jobs map[api.JobID]*api.JobInfo) map[string]wait {
	parents := make(map[string]string, len(accounts))
	for _, a := range accounts {
		parents[a.Queue] = a.Parent
	}

	waiting := map[string]wait{}
	for _, job := range jobs {
		if !waits(job) {
			continue
		}

		for name := range index.Upward(string(job.Queue), func(name string) string { return parents[name] }) {
			w := waiting[name]
			w.jobs++
			if created := job.CreationTimestamp.Time; w.since.IsZero() || created.Before(w.since) {
				w.since = created
			}
			waiting[name] = w
		}
	}
	return waiting
}

// waits reports whether a job is not admitted, or has pods without a node.
func waits(job *api.JobInfo) bool {
	if job.PodGroup == nil || job.PodGroup.Status.Phase == scheduling.PodGroupCompleted {
		return false
	}
	pending := job.PodGroup.Status.Phase == scheduling.PodGroupPending && !job.IsReady()
	return pending || len(job.TaskStatusIndex[api.Pending]) > 0
}
