// Package budget adds up how long queues have cards, for budgets in windows of time.
//
// # Used
//
// The use of a card by a queue is the integral of the quantity that the queue and the queues below it have had:
//
//	U(t) = ∫ a(s) ds over the s ≤ t in the window      card-milli × seconds
//
// a changes only at events. So between two sessions, δ apart, U grows by a·δ, and the length of sessions does not
// matter. A queue with 8 cards from 22:00 to 02:00 has used 16 card-hours of a daily budget when the day ends. At
// 02:00 it has used 16 card-hours of the next day.
//
// # Sliding windows
//
// A sliding window of length L has n = 48 parts of L/n. Their borders are multiples of L/n since 1970. A part counts
// until all of it is too old, so the window begins at a border, and is shorter than L + L/n:
//
//	use of the last L  ≤  U  ≤  use of the last L·(1 + 1/n)
//
// A queue that has 1 card all the time has used 30 to 30.6 card-days of a window of 30 days. So use is never
// underestimated.
//
// # Left
//
//	left = budget − used − needed
//
// needed is the sum of the needs of pods with an announced length. A pod that has m of a card, and runs for r more,
// needs m·min(r, end of the window − now).
//
// # Queues that come, go and move
//
// A Ledger has the use of each queue itself, without the queues below it. The sums follow the present tree, so the
// use of a queue that moves counts for its new ancestors. The use of a deleted queue counts for its nearest ancestor
// that still exists, until it is out of the window. If a queue of that name exists again, the use is its own again.
package budget
