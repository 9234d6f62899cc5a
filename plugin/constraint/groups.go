package constraint

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// groupBounds are the limits of a group of cards on the path of each queue. Most groups bound few queues, so a task is
// compared with these limits, and not at each level (BenchmarkGroups). It is empty where there are no groups.
type groupBounds struct {
	position []int32 // of a group, by dimension
	groups   int
	from     []int32 // where the bounds of a queue and a group begin, by queue·groups + position
	bounds   []groupBound
}

// groupBound is the limit of a queue for a group.
type groupBound struct {
	queue index.Queue
	limit float64
}

// OpenGroups finds the queues that bound the groups of cards. Bounds stay the same for the session.
func (s *Session) OpenGroups() {
	s.bounds = groupBounds{}
	groups := s.Names.AllGroups()
	if len(groups) == 0 {
		return
	}

	b := &s.bounds
	b.groups = len(groups)
	b.position = make([]int32, s.Names.Len())
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
}

// onPath returns the bounds of a group on the path of q, from the lowest up.
func (b *groupBounds) onPath(q index.Queue, group fastres.Dim) []groupBound {
	at := int(q)*b.groups + int(b.position[group])
	return b.bounds[b.from[at]:b.from[at+1]]
}

// fitsGroups applies the rules to each group of a card, for a quantity of the card.
func (s *Session) fitsGroups(b *quota.Books, a *Ask, groups []index.Share, milli float64) quota.Verdict {
	for _, share := range groups {
		more := share.Of(milli)

		for _, bound := range s.bounds.onPath(a.Queue, share.Group) {
			if b.Queues.AllocatedAt(bound.queue, share.Group)+more > bound.limit {
				return quota.Verdict{Reason: quota.OverQuota, Queue: bound.queue}
			}
		}

		for _, h := range s.with(onFitGroup) {
			if v := h.FitCard(b, *a, share.Group, more); !v.OK() {
				return v
			}
		}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
}
