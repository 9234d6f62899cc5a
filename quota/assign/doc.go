// Package assign decides whether a set of pods can be served with cards at the same time. Each
// pod takes one card of its list.
//
// # Formula
//
// An assignment gives each pod one card of its list. The following holds for every queue p and
// every card c that a pod in p, or below p, is assigned to:
//
//	Σ size of the pods assigned to c in p and below ≤ room(p, c)
//	room = realCapability − allocated − inqueue + elastic
//
// Sizes and rooms are in milli-cards. The question is whether an assignment exists for the
// asked demands together with the given demands. The given demands belong to admitted jobs.
// They are known to have an assignment without the asked demands.
// Volcano has no such rule: it knows no card lists.
//
// # Words
//
//	demand     a number of equal pods of one queue: one size, one card list
//	cell       one queue and one card; the cell above it belongs to the queue's parent
//	room       the milli-cards that a cell can still take, a multiple of 2^-20
//	option     one card of a demand, with the lowest cell that it takes room from
//	load       of a cell: an upper bound of the room that the open demands can take
//	tight      of a cell: its load exceeds its room, so the cell restricts the choice
//	open       of a demand: not settled yet
//	component  demands and cells that depend on one another
//	side       the cell of a group of cards; it is above no cell
//	affected   of a demand: it is asked about, or an affected demand without a choice
//	           took room from one of its cells
//
// # Groups
//
// A group of cards bounds the weighted sum of its cards in p and below:
//
//	Σ weight · size of the pods assigned to cards of the group ≤ room(p, group)
//
// A flow network has no such bound. It is a side constraint: it restricts which options have
// room, and joins components. If a flow exceeds it, the search branches. A group that is not
// tight changes nothing.
//
// # Method
//
//  1. Settle (assigner.go, cells.go). A demand without a choice is settled without a
//     search: it has one option left, or an option without a tight cell.
//  2. Components (components.go). Two of the remaining demands depend on each other if
//     they share a tight cell. A union-find over the cells finds the components. A
//     component without an affected demand is skipped: its assignment did not change.
//  3. Maximum flow (flow.go, search.go). Each component is a flow network: from the
//     source to the demands, from a demand to its options, from a cell to the cell
//     above, and from the top cells to the sink. Dinic's method finds a maximum flow:
//     it builds the level graph of the residual graph, saturates it with a blocking
//     flow, and repeats. A flow may split a pod between two cards. Therefore, a
//     maximum flow below the demand proves that no assignment exists. A flow that
//     meets the demand and splits no pod is an assignment.
//  4. Branch and bound (search.go). A network with one size never splits a pod,
//     because capacities are rounded down to multiples of the size. With several sizes
//     the question is bin packing, which is NP-hard. The search branches on a split
//     pod: it takes the card that has most of it, or it does not. A branch has no
//     assignment without a sufficient flow. It has none either if the cheapest cards of all
//     pods take more of a group than its room. The search ends when no pod is split and no
//     group is exceeded, or when it has visited half of the arcs that the caller's budget
//     has left. The first flow is not part of the budget.
//
// # Example
//
// The queues q and r are below the root. All sizes are one card. Rooms, in cards:
//
//	      A  B
//	root  2  2
//	q     2  1
//	r     1  2
//
// Two pods of q and two pods of r each request A|B. That is one demand of two pods for
// each queue.
//
//	cell    load                     room  tight
//	q/A     2                        2     no
//	q/B     2                        1     yes
//	r/A     2                        1     yes
//	r/B     2                        2     no
//	root/A  min(2,2) + min(2,1) = 3  2     yes
//	root/B  min(2,1) + min(2,2) = 3  2     yes
//
// The cells q/A and r/B restrict nothing, so the options skip them: the option A of q
// begins at root/A, and the option B of r begins at root/B. Each demand has two options
// with tight cells, so neither is settled. Both demands take room from root/A, so they
// are one component. Its network, with the capacities in cards:
//
//	source ─2→ q's pods ─2→ root/A ─2→ sink
//	                    ─1→ q/B ─1→ root/B
//	source ─2→ r's pods ─2→ root/B ─2→ sink
//	                    ─1→ r/A ─1→ root/A
//
// The shortest paths have three arcs. A blocking flow on them sends 2 through root/A
// and 2 through root/B. The flow of 4 meets the demand of 4 and splits no pod: the pods
// of q get A, and the pods of r get B. With a third pod of q the demand is 5. The arcs to
// the sink carry 4 at most, so no assignment exists.
//
// # Errors
//
// There are none. The answer is Unknown if the search used up its budget.
package assign
