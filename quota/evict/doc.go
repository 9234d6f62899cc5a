// Package evict decides how many pods are evicted, and which, where a queue is above its bounds (the annotations
// volcano.sh/eviction-budget, volcano.sh/reclaim-budget and volcano.sh/enforce-quota). Upstream has none of them.
//
// # Budgets
//
// A budget of N evictions in a length L has room at a time t if
//
//	evictions at times in (t − L, t] + 1 ≤ N
//
// so no time of length L has more than N of them. Times are in milliseconds, rounded up: an eviction never counts
// for less than L.
//
// # Bounds over time
//
// What a queue may keep at a time t is the most that any of its bounds allowed of late:
//
//	allowed(t) = max{ bound(s) : t − after ≤ s ≤ t }
//
// so a bound that is lowered is enforced after the delay, and one that is lowered twice in two steps. Only queues that
// have more than their bound are kept: for all others, time begins when they come to be above it.
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
// Choose has the order in which pods and gangs are evicted, and leaves out those without which the others suffice.
package evict
