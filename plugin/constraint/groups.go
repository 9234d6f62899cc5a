package constraint

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// groupBounds are the queues on the path of each queue that bound a group of cards. Most groups bound few queues, so a task is
// compared with these, and not at each level (BenchmarkGroups). It is empty where there are no groups.
type groupBounds struct {
	position []int32 // of a group, by dimension
	groups   int
	from     []int32 // where the queues of a queue and a group begin, by queue·groups + position
	queues   []index.Queue
	tasks    []TaskRule // those that decide on groups
}

// OpenGroups finds who bounds the groups of cards, after all constraints are active: bounds stay the same for the session.
func (s *Session) OpenGroups() {
	groups := s.Names.AllGroups()
	s.bounds = groupBounds{}
	if len(groups) == 0 {
		return
	}
	b := &s.bounds
	b.groups, b.position = len(groups), make([]int32, s.Names.Len())
	for i, group := range groups {
		b.position[group] = int32(i)
	}
	b.from = make([]int32, 0, s.Index.Len()*len(groups)+1)
	for q := range index.Queue(s.Index.Len()) {
		for _, group := range groups {
			b.from = append(b.from, int32(len(b.queues)))
			for _, p := range s.Index.Path(q) {
				if s.Limit.At(p, group) < fastres.MaxQuantity {
					b.queues = append(b.queues, p)
				}
			}
		}
	}
	b.from = append(b.from, int32(len(b.queues)))
	for _, rule := range s.tasks {
		if r, ok := rule.(GroupRule); !ok || r.AsksGroups() {
			b.tasks = append(b.tasks, rule)
		}
	}
}

// bounding returns the queues on the path of q that bound a group, from the lowest up.
func (b *groupBounds) bounding(q index.Queue, group fastres.Dim) []index.Queue {
	at := int(q)*b.groups + int(b.position[group])
	return b.queues[b.from[at]:b.from[at+1]]
}

// fitsGroups applies the rules to what the groups of a card have of a quantity of it.
func (s *Session) fitsGroups(b *quota.Books, a Ask, groups []index.Share, milli float64) quota.Verdict {
	for _, share := range groups {
		more := share.Of(milli)
		for _, p := range s.bounds.bounding(a.Queue, share.Group) {
			if b.Queues.Allocated(p).Get(share.Group)+more > s.Limit.At(p, share.Group) {
				return quota.Verdict{Reason: quota.OverQuota, Queue: p}
			}
		}
		for _, rule := range s.bounds.tasks {
			if v := rule.FitCard(b, a, share.Group, more); !v.OK() {
				return v
			}
		}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
}
