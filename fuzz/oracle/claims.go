package oracle

import (
	"maps"
	"slices"
)

// A resource claim gives cards to the pods that have it (docs/cards.md, "Resource claims"). A pod that a claim was made
// for alone has its cards as those of the device plugin; a claim that pods name is charged once in each queue that has
// such pods.

// ClaimRequest is a request of a resource claim: one of its alternatives.
type ClaimRequest []ClaimAlternative

// ClaimAlternative is a number of devices that are one of some cards; 0 is all of them.
type ClaimAlternative struct {
	Count int
	Cards []string
}

// Most returns the most that a claim can get of the devices of a node, card by card, in cards: of each request the
// greatest of the alternatives for which there are enough devices, and no more of a card than there are. devices holds
// the card of each. The result is nil if there are too few devices for a request.
func Most(claim []ClaimRequest, devices []string) map[string]float64 {
	sum := map[string]float64{}
	for _, request := range claim {
		best := request.most(devices)
		if best == nil {
			return nil
		}
		for card, n := range best {
			sum[card] += n
		}
	}
	for card := range sum {
		sum[card] = min(sum[card], float64(count(devices, card)))
	}
	return sum
}

func (r ClaimRequest) most(devices []string) (best map[string]float64) {
	for _, alternative := range r {
		admitted := count(devices, alternative.Cards...)
		if admitted == 0 || admitted < alternative.Count {
			continue
		}
		if best == nil {
			best = map[string]float64{}
		}
		for _, card := range alternative.Cards {
			if n := count(devices, card); n > 0 {
				if alternative.Count > 0 {
					n = min(n, alternative.Count)
				}
				best[card] = max(best[card], float64(n))
			}
		}
	}
	return best
}

// count returns how many devices are one of some cards.
func count(devices []string, cards ...string) (n int) {
	for _, card := range devices {
		if slices.Contains(cards, card) {
			n++
		}
	}
	return n
}

// ShareClaims sets what claims take that pods share, and these pods. Each queue has what its pods, and those of queues
// below, share, each claim once.
func (o *Oracle) ShareClaims(claims DeviceClaims, sharing []Plain) {
	o.claims, o.sharing = claims, slices.Clone(sharing)
}

// withShared adds what the pods of a queue, and of queues below, share.
func (o *Oracle) withShared(name string, own Amounts) Amounts {
	if len(o.sharing) == 0 {
		return own
	}
	return own.Plus(o.Devices(name, o.claims, o.sharing))
}

// with returns the accounts with one more pod: what it has alone, and the claims that it shares.
func (o *Oracle) with(pod Plain, own Amounts) *Oracle {
	after := o.Clone()
	after.Charge(pod.Queue, own)
	after.sharing = append(slices.Clone(o.sharing), pod)
	return after
}

// PodRefused returns the queues, from the lowest up, without room for what a pod adds to them. own are the cards that
// it shares with no other pod.
func (o *Oracle) PodRefused(pod Plain, own Amounts) (full []string) {
	after := o.with(pod, own)
	for _, q := range o.Path(pod.Queue) {
		before, then := o.Allocated(q), after.Allocated(q)
		if slices.ContainsFunc(dimensions(then), func(d string) bool { return then[d] > before[d] && then[d] > o.boundFor(pod.Queue, q, o.Bound(q))[d] }) {
			full = append(full, q)
		}
	}
	return full
}

// LendsPod decides whether all guarantees of others stay free beside a pod, now and once pods that are being deleted
// are gone. own are the cards that it shares with no other pod.
func (o *Oracle) LendsPod(pod Plain, own Amounts) bool {
	after, then := o.with(pod, own), maps.Clone(o.cluster.Available)
	for d := range then {
		then[d] -= o.cluster.Ending[d]
	}
	return !slices.ContainsFunc(dimensions(after.Allocated(pod.Queue)), func(d string) bool {
		return o.lendsBetween(pod.Queue, d, o.Allocated, after.Allocated, o.cluster.Available) != "" ||
			o.lendsBetween(pod.Queue, d, o.Future, after.Future, then) != ""
	})
}
