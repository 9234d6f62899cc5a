package model

import "github.com/capacity-card/capacity-card/cmd/cardctl/queues"

// OwnScale returns the quantity of a full bar where each bar has a scale of its own. It is the quota, or allocated
// and inqueue if they are more. Without a quota it is the largest quantity of the queue.
func OwnScale(h queues.Holding) float64 {
	if h.Capability != nil && *h.Capability > 0 {
		return max(*h.Capability, h.Allocated+h.Inqueue)
	}
	return largest(h)
}

func largest(h queues.Holding) float64 {
	most := max(h.Allocated+h.Inqueue, h.Guarantee)
	for _, bound := range []*float64{h.Deserved, h.Capability} {
		if bound != nil {
			most = max(most, *bound)
		}
	}
	return most
}

// Over returns the part of a holding beyond the quota.
func Over(h queues.Holding) float64 {
	if h.Capability == nil {
		return 0
	}
	return max(0, h.Allocated-*h.Capability)
}

// Scales returns the quantities of full bars by resource. Each is the largest quantity of all queues, so that bars of
// one resource compare.
func Scales(all []queues.Queue) map[string]float64 {
	scales := map[string]float64{}
	for i := range all {
		for _, h := range all[i].Resources {
			scales[h.Resource] = max(scales[h.Resource], largest(h))
		}
	}
	return scales
}
