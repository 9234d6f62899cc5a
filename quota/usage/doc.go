// Package usage keeps what queues have had over time, for an order in which the queue that had less goes first.
//
// # Usage
//
// The usage U of a queue is an average of what the queue has had, in which a moment counts half as
// much as one that is a half-life h later. After a time δ in which the queue had a:
//
//	U ← β·U + (1−β)·a        β = 2^(−δ/h)
//
// The formula is exact for any δ: it does not matter how the time is cut. A queue that has had 8
// cards for a day, with h = 24h, began with U = 0 and now has U = 4. A day later without cards it
// has U = 2.
//
// The usage of a queue includes that of the queues below it.
//
// # Level
//
// The level of a queue compares its usage with its norm N, such as what it deserves. The present
// counts as well, since a queue whose jobs have just started would otherwise go first until its
// usage has grown:
//
//	E     = γ·U + (1−γ)·a    γ = 2^(−p/h)
//	level = max of E/N over the columns that count
//
// A queue with a norm of 0, which only borrows, is above all queues with a norm. Among such queues,
// the one with the greater E is above.
//
// p is the horizon. With p = 0, only the past counts; with a long one, only the present. With
// p = h, both count the same.
//
// # What the usage tells of the last days
//
// The usage is a bound of what a queue has had on average in the last s: MostOnAverage. It holds for the time that the
// record covers: Covered. A record begins with the queue or the column, and anew with Reset.
//
// # Queues that come, go and move
//
// What a queue without a history has had before counts as what it has now: U = a. Where a queue
// moves in the tree, its usage leaves the queues above it and is added to those that are above it
// now. The usage of a queue that is deleted stays with the queue above it, and goes back when a
// queue of that name exists again.
package usage
