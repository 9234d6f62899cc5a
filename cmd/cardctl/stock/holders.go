package stock

import (
	"cmp"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/intake"
)

// Holder has one card of one user, group, namespace or value of a label. A job in several groups counts in each.
type Holder struct {
	Holder    string  `json:"holder"` // "" for the jobs that name none
	Card      string  `json:"card"`
	Allocated float64 `json:"allocated"` // whole cards
	Running   int     `json:"running"`   // jobs with the card
	Waiting   int     `json:"waiting"`   // jobs with a pod that waits for the card, or for one of a list with it
}

// holding identifies a card of a holder.
type holding struct{ holder, card string }

// Holders returns the cards of the holders of a key: user, group, namespace, or label: and the name of a label. wanted
// selects the queues of the jobs. The holders with the most cards come first, the cards of each in the order of their
// names.
func Holders(s *engine.Session, key string, wanted func(queue string) bool) []Holder {
	all := map[holding]*Holder{}
	at := func(holder, name string) *Holder {
		k := holding{holder, name}
		if all[k] == nil {
			all[k] = &Holder{Holder: holder, Card: name}
		}
		return all[k]
	}

	most := map[string]float64{}
	for _, job := range s.Jobs {
		if !wanted(string(job.Queue)) {
			continue
		}

		allocated, waiting := cardsOfJob(s, job)
		for holder := range intake.ValuesOf(job, key) {
			for name, n := range allocated {
				h := at(holder, name)
				h.Allocated += n
				h.Running++
				most[holder] += n
			}
			for name := range waiting {
				at(holder, name).Waiting++
			}
		}
	}

	holders := []Holder{}
	for _, h := range all {
		holders = append(holders, *h)
	}
	slices.SortFunc(holders, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(most[b.Holder], most[a.Holder]), cmp.Compare(a.Holder, b.Holder),
			cmp.Compare(a.Card, b.Card))
	})
	return holders
}

// cardsOfJob returns the charges of a job by card, and the cards that its pods without a node name.
func cardsOfJob(s *engine.Session, job *api.JobInfo) (allocated map[string]float64, waiting map[string]bool) {
	allocated = map[string]float64{}
	waiting = map[string]bool{}
	for _, task := range job.Tasks {
		if api.AllocatedStatus(task.Status) {
			for name, n := range s.Quota.Charged(task) {
				allocated[name] += n
			}
			continue
		}
		if task.Status != api.Pending {
			continue
		}

		names := card.NameOf(task.Pod.Annotations)
		for _, claimed := range s.Quota.Claimed(task) {
			names = append(names, card.ParseList(claimed.Card)...)
		}
		for _, name := range names {
			waiting[name] = true
		}
	}
	return allocated, waiting
}
