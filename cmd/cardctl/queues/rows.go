package queues

import (
	"fmt"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
)

// Row is a line of a table of queues: a queue and one of its resources. A queue without resources has no row.
type Row struct {
	Queue   *Queue
	Holding Holding
}

// Rows returns the rows of queues, in their order.
func Rows(all []Queue, wide bool) (rows []Row) {
	for i := range all {
		for _, h := range all[i].shown(wide) {
			rows = append(rows, Row{&all[i], h})
		}
	}

	return rows
}

// Column is a column of a table of queues.
type Column struct {
	Name    string
	OfQueue bool // equal in all rows of a queue
	Number  bool
	Wide    bool // only in wide tables
	Text    func(*Row) string
}

// Use is the name of the column of bars, the last one.
const Use = "USE"

// barWidth is the length of a bar in a table, with its brackets.
const barWidth = 22

// Columns are the columns of a table of queues.
var Columns = []Column{
	{Name: "QUEUE", OfQueue: true, Text: func(r *Row) string { return r.Queue.indented() }},
	{Name: "SHARE", OfQueue: true, Number: true, Text: (*Row).share},
	{Name: "WAITING", OfQueue: true, Number: true, Text: func(r *Row) string { return fmt.Sprint(r.Queue.Waiting) }},
	{Name: "RESOURCE", Text: func(r *Row) string { return r.Holding.Resource }},
	{Name: "DESERVED", Number: true, Text: func(r *Row) string { return r.bound(r.Holding.Deserved) }},
	{Name: "ALLOCATED", Number: true, Text: func(r *Row) string { return r.amount(r.Holding.Allocated) }},
	{Name: "INQUEUE", Number: true, Text: func(r *Row) string { return r.amount(r.Holding.Inqueue) }},
	{Name: "GUARANTEE", Number: true, Wide: true, Text: func(r *Row) string { return r.amount(r.Holding.Guarantee) }},
	{Name: "CAPABILITY", Number: true, Text: func(r *Row) string { return r.bound(r.Holding.Capability) }},
	{Name: Use, Text: func(r *Row) string { return strings.Join(r.Holding.Bar(barWidth), "") }},
}

// indented returns the name, indented by the depth in the tree, with the problems of the queue.
func (q *Queue) indented() string {
	name := strings.Repeat("  ", q.Depth) + q.Queue
	if q.State != "Open" && q.State != "" {
		name += " (" + q.State + ")"
	}
	if q.Broken != "" {
		name += " (broken)"
	}

	return name
}

func (r *Row) share() string { return fmt.Sprintf("%.2f", r.Queue.Share) }

func (r *Row) amount(x float64) string { return explain.Amount(r.Holding.Resource, x) }

func (r *Row) bound(x *float64) string {
	if x == nil {
		return "-"
	}
	return r.amount(*x)
}

// Bar draws the allocated and the reserved part of the capability in width characters. The parts of the bar are "[",
// the allocated part, the reserved part, and the rest with "]". It is empty without a capability.
func (h *Holding) Bar(width int) []string {
	if h.Capability == nil || *h.Capability == 0 {
		return nil
	}

	width -= len("[]")
	part := func(x float64) int { return int(min(1, x / *h.Capability)*float64(width) + 0.5) }
	allocated := part(h.Allocated)
	both := part(h.Allocated + h.Inqueue)

	return []string{
		"[",
		strings.Repeat("#", allocated),
		strings.Repeat("+", both-allocated),
		strings.Repeat(".", width-both) + "]",
	}
}

// Summary describes a row in two lines: the queue, and all quantities of the resource.
func (r *Row) Summary() string {
	q := r.Queue

	queue := "queue " + strings.TrimSpace(q.indented())
	if q.Parent != "" {
		queue += ", parent " + q.Parent
	}
	queue += fmt.Sprintf(": share %.2f, waiting jobs %d", q.Share, q.Waiting)
	if q.Broken != "" {
		queue += ": " + q.Broken
	}

	return queue + "\n" + r.Quantities()
}

// Quantities describes all quantities of the resource of a row.
func (r *Row) Quantities() string {
	h := &r.Holding
	return fmt.Sprintf("%s: deserved %s, guarantee %s, allocated %s, inqueue %s, capability %s",
		h.Resource, r.bound(h.Deserved), r.amount(h.Guarantee), r.amount(h.Allocated),
		r.amount(h.Inqueue), r.bound(h.Capability))
}

// Amounts describes the allocated quantity, the reserved one and the capability in short, such as "2 + 1 / 8".
func (r *Row) Amounts() string {
	text := r.amount(r.Holding.Allocated)
	if r.Holding.Inqueue > 0 {
		text += " + " + r.amount(r.Holding.Inqueue)
	}
	if r.Holding.Capability != nil {
		text += " / " + r.amount(*r.Holding.Capability)
	}

	return text
}
