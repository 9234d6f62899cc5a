package model

import "time"

// The history has a fine sample for each half minute of the last hour, and a coarse one for each five minutes of the
// last day.
const (
	fineSlot    = 30 * time.Second
	fineSlots   = 120
	coarseSlot  = 5 * time.Minute
	coarseSlots = 288
)

// ring keeps a sample for each of the last slots.
type ring struct {
	slot    time.Duration
	slots   int
	samples []sample // the oldest first
}

// sample has the values of one slot. Nobody changes values, so that rings share them.
type sample struct {
	time   time.Time
	values []value // by series
}

// add adds the values of a time. The last ones of a slot count.
func (r *ring) add(now time.Time, values []value) {
	s := sample{now.Truncate(r.slot), values}

	if n := len(r.samples); n > 0 && r.samples[n-1].time.Equal(s.time) {
		r.samples[n-1] = s
		return
	}

	r.samples = append(r.samples, s)
	// The last sample before the first slot stays: the slot takes its values if it has no sample.
	for len(r.samples) > 1 && s.time.Sub(r.samples[1].time) >= r.slot*time.Duration(r.slots-1) {
		r.samples = r.samples[1:]
	}
}

// span returns the time for which the ring has slots.
func (r *ring) span() time.Duration { return r.slot * time.Duration(r.slots) }

// window returns a sample for each slot of a period up to now, from the first sample on. A slot without a sample has
// the values of the slot before, because a cluster that does not change is not read.
func (r *ring) window(period time.Duration, now time.Time) (all []sample) {
	if len(r.samples) == 0 {
		return nil
	}

	now = now.Truncate(r.slot)
	at := now.Add(r.slot - min(period, r.span()).Truncate(r.slot))
	if first := r.samples[0].time; first.After(at) {
		at = first
	}

	last := 0
	for ; !at.After(now); at = at.Add(r.slot) {
		for last+1 < len(r.samples) && !r.samples[last+1].time.After(at) {
			last++
		}
		all = append(all, sample{at, r.samples[last].values})
	}
	return all
}
