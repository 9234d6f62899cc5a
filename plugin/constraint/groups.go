package constraint

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// groupBounds are the limits of a group of cards on the path of each queue. Most groups bound few queues, so a task is
// compared with these, and not at each level (BenchmarkGroups). It is empty where there are no groups.
type groupBounds struct {
	position []int32 // of a group, by dimension
	groups   int
	from     []int32 // where the bounds of a queue and a group begin, by queue·groups + position
	bounds   []groupBound
	tasks    []TaskRule // those that decide on groups
}

// groupBound is the limit of a queue for a group.
type groupBound struct {
	queue index.Queue
	limit float64
}

// OpenGroups finds who bounds the groups of cards, after all constraints are active: bounds stay the same for the
// session.
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
			b.from = append(b.from, int32(len(b.bounds)))
			for _, p := range s.Index.Path(q) {
				if limit := s.Limit.At(p, group); limit < fastres.MaxQuantity {
					b.bounds = append(b.bounds, groupBound{p, limit})
				}
			}
		}
	}
	b.from = append(b.from, int32(len(b.bounds)))
	for _, rule := range s.tasks {
		if r, ok := rule.(GroupRule); !ok || r.AsksGroups() {
			b.tasks = append(b.tasks, rule)
		}
	}
}

// of returns the bounds of a group on the path of q, from the lowest up.
func (b *groupBounds) of(q index.Queue, group fastres.Dim) []groupBound {
	at := int(q)*b.groups + int(b.position[group])
	return b.bounds[b.from[at]:b.from[at+1]]
}

// fitsGroups applies the rules to what the groups of a card have of a quantity of it.
func (s *Session) fitsGroups(b *quota.Books, a *Ask, groups []index.Share, milli float64) quota.Verdict {
	for _, share := range groups {
		more := share.Of(milli)
		for _, at := range s.bounds.of(a.Queue, share.Group) {
			if b.Queues.AllocatedAt(at.queue, share.Group)+more > at.limit {
				return quota.Verdict{Reason: quota.OverQuota, Queue: at.queue}
			}
		}
		for _, rule := range s.bounds.tasks {
			if v := rule.FitCard(b, *a, share.Group, more); !v.OK() {
				return v
			}
		}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
}
