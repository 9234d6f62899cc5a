// Package usage keeps the average use of queues over time, for an order in which the queue that had less goes first.
//
// # Usage
//
// The usage U of a queue is an average of the quantity that the queue has had. A moment counts half
// as much as a moment that is a half-life h later. After a time δ in which the queue had a:
//
//	U ← β·U + (1−β)·a        β = 2^(−δ/h)
//
// The formula is exact for any δ: the length of sessions does not matter. A queue that has had 8
// cards for a day, with h = 24h, began with U = 0 and now has U = 4. A day later without cards it
// has U = 2.
//
// The usage of a queue includes the usage of the queues below it.
//
// # Level
//
// The level of a queue compares its usage with its norm N, such as its deserved quota. The present
// counts as well. Otherwise a queue would go first after its jobs have started, until its usage has
// grown:
//
//	E     = γ·U + (1−γ)·a    γ = 2^(−p/h)
//	level = max of E/N over the columns that count
//
// A queue with a norm of 0 only borrows. It is above all queues with a norm. Among such queues, the
// queue with the greater E is above.
//
// p is the horizon. With p = 0, only the past counts; with a long one, only the present. With
// p = h, both count the same.
//
// # A bound for the last days
//
// The usage bounds the average quantity that a queue has had in the last s: MostOnAverage. The bound holds for the time
// that the record covers: Covered. A record begins with the queue or the column. Reset begins a new record.
//
// # Queues that come, go and move
//
// A queue without a history begins with its present quantity: U = a. If a queue moves in the tree,
// its usage moves from its old ancestors to its new ancestors. The usage of a deleted queue stays with
// its parent, and goes back when a queue of that name exists again.
package usage
