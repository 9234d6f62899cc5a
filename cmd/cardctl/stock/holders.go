package stock

import (
	"cmp"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/quota"
)

// Holder has one card of one user, group, namespace or value of a label. A job in several groups counts in each.
type Holder struct {
	Holder    string  `json:"holder"` // "" for the jobs that name none
	Card      string  `json:"card"`   // or a group of cards with a limit
	Allocated float64 `json:"allocated"`
	Running   int     `json:"running"` // jobs with the card
	Waiting   int     `json:"waiting"` // jobs with a pod that waits for the card, or for one of a list with it
	// Limits are the limits of queues that apply to these jobs (the annotation volcano.sh/card.quota.by), in the order
	// of the queues' names.
	Limits []Limit `json:"limits,omitempty"`
}

// Limit is the limit of a queue for a holder and a card. Quantities are whole cards.
type Limit struct {
	Queue     string  `json:"queue"`
	Allocated float64 `json:"allocated"` // to the holder, in the queue and below
	Limit     float64 `json:"limit"`
}

// Reached reports whether a limit has no room for another card.
func (l Limit) Reached() bool { return l.Allocated+1 > l.Limit }

// Held has the cards of a job, and the holders for which it counts.
type Held struct {
	Namespace string
	Queue     string
	Pods      int

	values    map[string][]string // of the holders, by key
	allocated map[string]float64  // by card, or group of cards
	waiting   map[string]bool     // cards for which a pod waits
	limits    []inspect.HolderLimit
}

// FirstKey is the key that a list of holders has unless another one is chosen.
const FirstKey = quota.HolderUser

// HolderKeys returns the keys of holders that each cluster has, and the labels that queues limit.
func HolderKeys(s *engine.Session) []string {
	keys := []string{FirstKey, quota.HolderGroup, quota.HolderNamespace}
	for _, key := range s.Quota.HolderKeys() {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// HeldCards returns the jobs of a session that have cards or wait for any, with their holders of some keys: user,
// group, namespace, or label: and the name of a label.
func HeldCards(s *engine.Session, keys ...string) (all []Held) {
	groups := s.Settings().Cards.Groups
	for _, job := range s.Jobs {
		held := Held{
			Namespace: job.Namespace,
			Queue:     string(job.Queue),
			Pods:      len(job.Tasks),
			values:    map[string][]string{},
		}
		held.allocated, held.waiting = cardsOfJob(s, job)
		if len(held.allocated)+len(held.waiting) == 0 {
			continue
		}

		for _, key := range keys {
			held.values[key] = intake.ValuesOf(job, key)
		}
		held.limits = s.Quota.HolderLimits(job.UID)
		held.addGroups(groups)
		all = append(all, held)
	}
	return all
}

// addGroups adds up the cards of the groups that a limit names.
func (h *Held) addGroups(groups card.Groups) {
	allocated := map[string]float64{}
	for name, n := range h.allocated {
		groups.Add(allocated, name, n)
	}
	waiting := map[string]float64{}
	for name := range h.waiting {
		groups.Add(waiting, name, 1)
	}

	for _, l := range h.limits {
		if allocated[l.Card] > 0 {
			h.allocated[l.Card] = allocated[l.Card]
		}
		if waiting[l.Card] > 0 {
			h.waiting[l.Card] = true
		}
	}
}

// Holders adds up the cards of jobs by the holders of a key. wanted selects the jobs. The holders with the most cards
// come first, the cards of each in the order of their names.
func Holders(jobs []Held, key string, wanted func(*Held) bool) []Holder {
	sums := holderSums{}
	for i := range jobs {
		if wanted(&jobs[i]) {
			sums.add(&jobs[i], key)
		}
	}

	most := map[string]float64{}
	holders := []Holder{}
	for _, h := range sums {
		holders = append(holders, *h)
		if !strings.HasPrefix(h.Card, card.GroupPrefix) { // its cards count
			most[h.Holder] += h.Allocated
		}
	}
	slices.SortFunc(holders, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(most[b.Holder], most[a.Holder]), cmp.Compare(a.Holder, b.Holder),
			cmp.Compare(a.Card, b.Card))
	})
	return holders
}

// holding identifies a card of a holder.
type holding struct{ holder, card string }

// holderSums adds up the cards of holders.
type holderSums map[holding]*Holder

func (s holderSums) at(holder, name string) *Holder {
	k := holding{holder, name}
	if s[k] == nil {
		s[k] = &Holder{Holder: holder, Card: name}
	}
	return s[k]
}

// add adds a job to its holders of a key.
func (s holderSums) add(job *Held, key string) {
	for _, holder := range job.values[key] {
		for name, n := range job.allocated {
			h := s.at(holder, name)
			h.Allocated += n
			h.Running++
		}
		for name := range job.waiting {
			s.at(holder, name).Waiting++
		}
	}

	for _, l := range job.limits {
		if l.Holder.Key == key {
			s.at(l.Holder.Value, l.Card).limit(Limit{l.Queue, l.Allocated, l.Limit})
		}
	}
}

// limit adds a limit, unless the holder has it.
func (h *Holder) limit(l Limit) {
	at, known := slices.BinarySearchFunc(h.Limits, l, func(a, b Limit) int { return cmp.Compare(a.Queue, b.Queue) })
	if !known {
		h.Limits = slices.Insert(h.Limits, at, l)
	}
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
