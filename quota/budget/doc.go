// Package budget adds up how long queues have cards, for budgets in windows of time.
//
// # Used
//
// What a queue has used of a card in a window is the integral of what it and the queues below it have had:
//
//	U(t) = ∫ a(s) ds over the s ≤ t in the window      card-milli × seconds
//
// a changes at events alone, so between two sessions, δ apart, U grows by a·δ, and it does not matter how the time
// is cut. A queue with 8 cards from 22:00 to 02:00 has used 16 card-hours of a budget per day when the day ends, and
// 16 of the next one at 02:00.
//
// # Sliding windows
//
// A window of length L that slides has use in n = 48 parts of L/n, whose borders are multiples of L/n since 1970.
// A part counts until the whole of it is too old, so the window that counts reaches back to a border, and for
// less than L + L/n:
//
//	use of the last L  ≤  U  ≤  use of the last L·(1 + 1/n)
//
// A queue that has 1 card all the time has used 30 to 30.6 card-days of a window of 30 days. So more than the budget
// never counts as less.
//
// # Left
//
//	left = budget − used − needed
//
// needed is the sum of what pods with an announced length still need in the window. A pod that has m of a card, and
// runs for r more, needs m·min(r, end of the window − now).
//
// # Queues that come, go and move
//
// A Ledger has what each queue has used itself. The sums follow the tree as it is, so the use of a queue that moves
// counts for the queues above it now. That of a queue that is deleted counts for the nearest queue above it that still
// exists, until it is out of the window, and is its own again when a queue of that name exists again.
package budget
