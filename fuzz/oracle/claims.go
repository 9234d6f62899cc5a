package oracle

import "slices"

// A resource claim gives cards to the pods that have it (docs/spec/cards.md, "Resource claims"). The cards of a claim
// for a single pod count like cards of the device plugin. A claim that several pods name is charged once in each queue
// with such pods.

// ClaimRequest is a request of a resource claim: one of its alternatives.
type ClaimRequest []ClaimAlternative

// ClaimAlternative is a number of devices of some cards. A Count of 0 stands for all such devices.
type ClaimAlternative struct {
	Count int
	Cards []string
}

// Most returns the most cards that a claim can get from the devices of a node, card by card. devices holds the card
// of each device. A request counts with its largest alternative for which there are enough devices. The sum of a card
// is at most the number of its devices. The result is nil if there are too few devices for a request.
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
			n := count(devices, card)
			if n == 0 {
				continue
			}
			if alternative.Count > 0 {
				n = min(n, alternative.Count)
			}
			best[card] = max(best[card], float64(n))
		}
	}

	return best
}

// count returns the number of devices of some cards.
func count(devices []string, cards ...string) (n int) {
	for _, card := range devices {
		if slices.Contains(cards, card) {
			n++
		}
	}

	return n
}

// ShareClaims sets the claims that pods share, and these pods. Each queue is charged once for each claim of its pods
// and of the pods below it.
func (o *Oracle) ShareClaims(claims DeviceClaims, sharing []Plain) {
	o.claims = claims
	o.sharing = slices.Clone(sharing)
}

// withShared adds the claims that the pods of a queue, and of queues below, share.
func (o *Oracle) withShared(name string, own Amounts) Amounts {
	if len(o.sharing) == 0 {
		return own
	}
	return own.Plus(o.Devices(name, o.claims, o.sharing))
}

// with returns the accounts with one more pod: with its own cards, and the claims that it shares.
func (o *Oracle) with(pod Plain, own Amounts) *Oracle {
	after := o.Clone()
	after.Charge(pod.Queue, own)
	after.sharing = append(slices.Clone(o.sharing), pod)
	return after
}

// PodRefused returns the queues, from the lowest up, without room for one more pod. own are the cards that the pod
// shares with no other pod.
func (o *Oracle) PodRefused(pod Plain, own Amounts) (full []string) {
	after := o.with(pod, own)
	for _, q := range o.Path(pod.Queue) {
		before := o.Allocated(q)
		then := after.Allocated(q)
		exceeds := func(d string) bool {
			return then[d] > before[d] && then[d] > o.boundFor(pod.Queue, q, o.Bound(q))[d]
		}
		if slices.ContainsFunc(dimensions(then), exceeds) {
			full = append(full, q)
		}
	}

	return full
}

// LendsPod decides whether all guarantees of others stay free with one more pod, now and once pods that are being
// deleted are gone. own are the cards that the pod shares with no other pod.
func (o *Oracle) LendsPod(pod Plain, own Amounts) bool {
	after := o.with(pod, own)
	then := o.availableThen()
	return !slices.ContainsFunc(dimensions(after.Allocated(pod.Queue)), func(d string) bool {
		return o.lendsBetween(pod.Queue, d, o.Allocated, after.Allocated, o.cluster.Available) != "" ||
			o.lendsBetween(pod.Queue, d, o.Future, after.Future, then) != ""
	})
}
