// Package evict decides which pods are evicted, and how many, if a queue is above its bounds (the annotations
// volcano.sh/eviction-budget and volcano.sh/enforce-quota). Upstream has none of them.
//
// # Budgets
//
// A budget of N evictions in a length L has room at a time t if
//
//	evictions at times in (t − L, t] + 1 ≤ N
//
// so no time of length L has more than N evictions. Times are in milliseconds, rounded up: an eviction never counts for
// less than L.
//
// # Bounds over time
//
// At a time t, a queue may keep the most that its bound allowed during the delay:
//
//	allowed(t) = max{ bound(s) : t − after ≤ s ≤ t }
//
// so a lower bound is enforced after the delay. If the bound falls twice, it is enforced in two steps. Bounds are kept
// only for queues above their bound: for all others, time begins when they come to be above it.
//
//	time   bound  allocated  allowed, after = 30m
//	00:00  12     12         12
//	00:10  8      12         12
//	00:20  4      12         12
//	00:40  4      12         8    4 pods are evicted
//	00:50  4      8          4    4 more
//
// # The smallest set
//
// Choose orders the pods and gangs for eviction, and leaves out units that are not needed.
package evict
