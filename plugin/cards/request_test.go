package cards

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

// TestKindsOfRequests makes a request of each kind, and asks for its charge on a node with the card B.
func TestKindsOfRequests(t *testing.T) {
	const (
		a fastres.Dim = fastres.FirstFree + iota
		b
		device
	)
	type charges map[fastres.Dim]card.Milli
	list := &Selector{Names: card.List{"A", "B"}, Typed: true, Dims: []fastres.Dim{a, b}}
	node := &Node{cards: []nodeCard{{resource: 3, dim: b, amount: 8000}}}
	whole := &PodRequest{selector: list, resources: []resourceRequest{{resource: 3, amount: 2000}}}
	holding := &PodRequest{selector: list, held: []heldCard{{resource: 3, dim: a, amount: 2000}}}

	for name, test := range map[string]struct {
		request   Request
		on        charges // the node
		nowhere   charges // an unknown node
		fromClaim bool
		sum       requestKind
	}{
		"of a job": {statedRequest(list, 2000), charges{a: 2000}, charges{a: 2000}, false, byJob},
		"of a pod": {podRequest(whole, list, 3, 2000), charges{b: 2000}, charges{a: 2000}, false, byPod},
		"of a pod that holds a card": {
			podRequest(holding, list, 3, 2000), charges{a: 2000}, charges{a: 2000}, false, byPod},
		"of a pod for another resource of the list": {
			podRequest(whole, list, 4, 2000), charges{a: 2000}, charges{a: 2000}, false, byPod},
		"of a claim": {claimRequest(list, 2000), charges{a: 2000}, charges{a: 2000}, true, byClaim},
		"of an allocated claim": {
			deviceRequest(list, 2000, device, true), charges{device: 2000}, charges{device: 2000}, true, byClaim},
	} {
		t.Run(name, func(t *testing.T) {
			chargesOn := func(n *Node) charges {
				got := charges{}
				for d, amount := range test.request.On(n) {
					got[d] += amount
				}
				return got
			}
			assert.Equal(t, test.on, chargesOn(node))
			assert.Equal(t, test.nowhere, chargesOn(nil))
			assert.Equal(t, test.fromClaim, test.request.FromClaim())
			assert.EqualValues(t, 2000, test.request.Of(a))

			sum := test.request.Sum(5000)
			assert.True(t, sum.Alike(test.request))
			assert.Equal(t, Request{kind: test.sum, Selector: list, Resource: test.request.Resource, Amount: 5000}, sum)
		})
	}
	assert.Equal(t, nothing, Request{}.kind)
	assert.False(t, claimRequest(list, 1).Alike(statedRequest(list, 1)), "the resource tells them apart")
}

// TestRequestsAreSmall bounds the size of a request, which predicates copy for each pod and node.
func TestRequestsAreSmall(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(Request{}), uintptr(40))
}

// TestDescriptionsOfRequests describes requests for a message.
func TestDescriptionsOfRequests(t *testing.T) {
	s := &Snapshot{registry: NewRegistry()}
	id := s.registry.resource("x.com/gpu")
	assert.Empty(t, s.Describe(Request{}))
	assert.Equal(t, "A|B", s.Describe(statedRequest(&Selector{Names: card.List{"A", "B"}, Typed: true}, 1)))
	assert.Equal(t, "x.com/gpu", s.Describe(podRequest(nil, &Selector{resources: []ResourceID{id}}, id, 1)))
}
