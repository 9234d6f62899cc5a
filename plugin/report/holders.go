package report

import (
	"iter"

	dto "github.com/prometheus/client_model/go"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// MostHolders bounds the holders with series. Users choose names of namespaces, users and labels, and a limit of "*"
// applies to each of them.
const MostHolders = 1000

var (
	holderLabels = []string{"holder", "key", queueLabel, "resource"}

	holderCards = newFamily("queue_holder_cards", "Cards that are allocated to the jobs of one user, group, namespace "+
		"or value of a label, in a queue that limits them and in the queues below", holderLabels,
		writeHolders(func(h *holderGauges) float64 { return h.allocated }))
	holderLimits = newFamily("queue_holder_cards_limit", "Cards that one user, group, namespace or value of a label "+
		"may have in a queue and in the queues below", holderLabels,
		writeHolders(func(h *holderGauges) float64 { return h.limit }))
)

// HolderCards is a limit of a queue for a holder and a card, in thousandths of cards.
type HolderCards struct {
	Queue            index.Queue
	Holder           quota.Holder
	Card             fastres.Dim
	Allocated, Limit float64
}

// holderGauges are the numbers of a limit.
type holderGauges struct {
	labels           []*dto.LabelPair
	allocated, limit float64
}

// writeHolders returns the function that writes one number of each limit.
func writeHolders(numberIn func(*holderGauges) float64) func(*Metrics, func(float64, []*dto.LabelPair)) {
	return func(m *Metrics, emit func(float64, []*dto.LabelPair)) {
		for i := range m.holders {
			emit(numberIn(&m.holders[i]), m.holders[i].labels)
		}
	}
}

// PublishHolders sets the series of the holders of jobs in queues that limit their cards. The limits of a holder in a
// queue follow one another. Holders beyond MostHolders have no series. limits is nil where no queue limits holders.
func (m *Metrics) PublishHolders(limits iter.Seq[HolderCards]) {
	var all []holderGauges
	if limits != nil { // a session without limits allocates nothing
		all = m.holderGauges(limits)
	}

	m.mu.Lock()
	m.holders = all
	m.mu.Unlock()
}

// holderGauges returns the numbers of limits.
func (m *Metrics) holderGauges(limits iter.Seq[HolderCards]) (all []holderGauges) {
	var last HolderCards
	var holder, key, queue *dto.LabelPair
	n := 0
	for l := range limits {
		if n == 0 || l.Queue != last.Queue || l.Holder != last.Holder {
			if n == MostHolders {
				break
			}
			n++
			last = l
			holder = label("holder", l.Holder.Value)
			key = label("key", l.Holder.Key)
			queue = label(queueLabel, m.ix.Name(l.Queue))
		}

		labels := []*dto.LabelPair{holder, key, queue, m.resource(l.Card)}
		all = append(all, holderGauges{labels, l.Allocated, l.Limit})
	}
	return all
}
