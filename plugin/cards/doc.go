// Package cards reads the cards of nodes, pods and queues. It reads each object
// once and keeps the result across sessions.
//
// # Terms
//
//	card       a dimension of the vectors, like cpu; package index/card names it
//	resource   the extended resource that a pod requests to get a card
//	selector   the cards that satisfy a request: the list A|B of a pod, or every
//	           card of a resource for an untyped pod
//	request    milli-cards of one card of a selector; nearly every task has at
//	           most one
//	held card  the card that a running pod stays charged for when its node no
//	           longer states it: the node is gone, relabeled, or repartitioned
//
// # Example
//
// A pod lists NVIDIA-H200|NVIDIA-H800 and requests 2 nvidia.com/gpu. Its request
// is 2000 milli-cards of a selector with two cards. The pod is placed on a node
// with cards of the model NVIDIA-H800. Its queue and all ancestors are charged 2000
// milli-cards of NVIDIA-H800, and refunded the same when the pod leaves.
//
// # What lives how long
//
// A Registry lives as long as the scheduler: nodes, annotations and pods are read
// again only when their object changes. A Snapshot is the view of one scheduling
// session on it.
//
// Two facts are in no object: the last good value of an annotation that is now
// invalid, and the held cards. Both are stored for cardctl. A restart of the scheduler
// loses both. A pod is then charged for the card that its node states now, or else for
// the first card of its list.
//
// The plugin can leave the configuration and return many sessions later, so the
// state of a Registry may be old. Only pods that were seen on a node hold the card
// that it had.
//
// A Registry is for one session at a time. In a session PodRequest, Requests,
// FitNode and Preference are safe for many goroutines.
package cards
