package measure

import (
	"math"
	"time"
)

// Point is an amount from a time on.
type Point struct {
	At     time.Duration
	Amount float64
}

// Series is an amount over time. Each point holds until the next one.
type Series []Point

// set adds a point. The last amount at a time counts.
func (s Series) set(at time.Duration, amount float64) Series {
	n := len(s)
	if n > 0 && s[n-1].Amount == amount {
		return s
	}

	// A point of the same time is replaced, and merged with the point before if that has the amount.
	if n > 0 && s[n-1].At == at {
		s = s[:n-1]
		if n > 1 && s[n-2].Amount == amount {
			return s
		}
	}
	return append(s, Point{at, amount})
}

// Most returns the largest amount.
func (s Series) Most() float64 {
	most := 0.0
	for _, p := range s {
		most = max(most, p.Amount)
	}
	return most
}

// sum returns the integral from the beginning to an end.
func (s Series) sum(end time.Duration) float64 {
	sum := 0.0
	for i, p := range s {
		until := end
		if i+1 < len(s) {
			until = min(end, s[i+1].At)
		}

		sum += p.Amount * max(0, (until-p.At).Seconds())
	}
	return sum
}

// QueueCard is a card of a queue.
type QueueCard struct {
	Queue, Card string
	Allocated   Series
	Deserved    Series

	allocated, wanted, deserved float64 // now; wanted: the requests of waiting pods
	since                       time.Duration

	// Integrals over time, in card-seconds.
	Used float64 // allocated
	Due  float64 // deserved and wanted
	Had  float64 // the part of Due that was allocated
}

// pass adds the time until now to the integrals.
func (c *QueueCard) pass(now time.Duration) {
	seconds := (now - c.since).Seconds()
	c.since = now
	c.Used += seconds * c.allocated
	c.Due += seconds * min(c.deserved, c.allocated+c.wanted)
	c.Had += seconds * min(c.deserved, c.allocated)
}

// Jain returns Jain's index of fairness of shares: (Σx)² / (n Σx²). It is 1 if all shares are equal, and 1/n if one
// share has everything. It is NaN without shares.
func Jain(shares []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range shares {
		sum += x
		squares += x * x
	}

	if len(shares) > 0 && squares == 0 {
		return 1 // nobody has anything
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// Quotient returns a part by its whole, NaN if the whole is 0.
func Quotient(part, whole float64) float64 {
	if whole == 0 {
		return math.NaN()
	}
	return part / whole
}
