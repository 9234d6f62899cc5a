package cards

import (
	"cmp"
	"slices"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
)

// UnknownKeys finds annotations of queues that look like those of this module and have no
// effect. It is kept across sessions; the zero UnknownKeys is ready.
type UnknownKeys struct{ found map[queueKey]bool } // by the last call of Added

// queueKey is an annotation of a queue.
type queueKey struct{ queue, key string }

// UnknownKey is an annotation of a queue that has no effect.
type UnknownKey struct {
	Queue *scheduling.Queue
	card.Problem
}

// Added returns the annotations that it has not found in the session before, in the order
// of queues and keys.
func (u *UnknownKeys) Added(queues map[api.QueueID]*api.QueueInfo) []UnknownKey {
	var added []UnknownKey
	var found map[queueKey]bool // nil in most clusters
	for _, info := range queues {
		if len(info.Queue.Annotations) == 0 {
			continue
		}
		for _, p := range append(card.QueueKeys.Unknown(info.Queue.Annotations), policy.Unknown(info.Queue.Annotations)...) {
			if found == nil {
				found = map[queueKey]bool{}
			}
			k := queueKey{info.Queue.Name, p.Key}
			found[k] = true
			if !u.found[k] {
				added = append(added, UnknownKey{info.Queue, p})
			}
		}
	}
	u.found = found
	slices.SortFunc(added, func(x, y UnknownKey) int {
		return cmp.Or(cmp.Compare(x.Queue.Name, y.Queue.Name), cmp.Compare(x.Key, y.Key))
	})
	return added
}
