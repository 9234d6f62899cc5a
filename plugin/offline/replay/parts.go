package replay

import (
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// deserve notes the deserved of the queues. If no queue deserves anything of a card, all queues borrow it, and each
// deserves a part by its weight.
func (r *run) deserve() {
	inspection, ok := plugin.Inspect(*r.quota)
	if !ok {
		return
	}

	accounts := inspection.Accounts()
	parts := r.weights(accounts)
	deserved := map[string]float64{}
	for _, account := range accounts {
		for _, h := range account.Holdings {
			if h.Card && account.Leaf {
				deserved[h.Resource] += h.Deserved
			}
		}
	}

	for _, account := range accounts {
		if !account.Leaf {
			continue
		}
		for _, h := range account.Holdings {
			card, has := r.stock[h.Resource]
			switch {
			case !h.Card || !has:
			case deserved[h.Resource] > 0:
				r.book.Deserve(r.now, account.Queue, h.Resource, h.Deserved)
			default:
				r.book.Deserve(r.now, account.Queue, h.Resource, parts[account.Queue]*card.Cards)
			}
		}
	}
}

// weights returns the parts of queues by weight. Children divide the part of their parent in proportion to their
// weights.
func (r *run) weights(accounts []inspect.Account) map[string]float64 {
	weights := map[string]float64{}
	sums := map[string]float64{}
	parts := map[string]float64{}

	for _, q := range r.queues {
		weights[q.Name] = float64(max(1, q.Spec.Weight))
	}

	for _, account := range accounts {
		if weights[account.Queue] == 0 {
			weights[account.Queue] = 1 // a queue without an object
		}
		sums[account.Parent] += weights[account.Queue]
	}

	for _, account := range accounts { // parents come first
		parts[account.Queue] = weights[account.Queue] / sums[account.Parent]
		if account.Parent != "" {
			parts[account.Queue] *= parts[account.Parent]
		}
	}
	return parts
}
