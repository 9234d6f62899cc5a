package policy

import "time"

// OrderRule is the order of the jobs of a queue.
type OrderRule uint8

// The orders.
const (
	BestEffort   OrderRule = iota // the order of Volcano's plugins: a later job may pass an earlier one
	FIFO                          // by creation
	PriorityFIFO                  // by priority, then by creation
)

// String returns the name of the order in the annotation.
func (r OrderRule) String() string {
	return [...]string{BestEffort: "best-effort", FIFO: "fifo", PriorityFIFO: "priority-fifo"}[r]
}

// Order is the order of the jobs of a queue. The zero Order is BestEffort.
type Order struct {
	Rule OrderRule
	Hold time.Duration // how long a job that waits for quota holds back later ones, 0 for never
}

// DefaultHold bounds the time for which a job holds back later ones, if the annotation has no hold=.
const DefaultHold = time.Hour

// parseOrder parses the name of an order.
func parseOrder(v *Value, text string) bool {
	for _, rule := range []OrderRule{BestEffort, FIFO, PriorityFIFO} {
		if rule.String() == text {
			v.Order.Rule = rule
			return true
		}
	}

	return false
}

// parseHold parses how long a job holds back later ones.
func parseHold(v *Value, text string) (ok bool) {
	v.Order.Hold, ok = ParseDuration(text)
	return ok
}

// checkOrder expects a hold only with an order in which jobs wait for one another, and sets the hold that such an
// order has by default.
func checkOrder(values *Values, given map[string]string) string {
	order := &values[JobOrder].Order
	hold, bounded := given["hold="]
	switch {
	case order.Rule == BestEffort:
		return hold
	case !bounded:
		order.Hold = DefaultHold
	}
	return ""
}

// JobOrder returns the order of the jobs of the queue.
func (v *Values) JobOrder() Order { return v[JobOrder].Order }
