package cards

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// described is a request in the words of Describe.
type described struct {
	cards    string
	resource string
	cardsOf  float64 // whole cards
}

// TestPodRequestFollowsAnnotationAndResource reads pods with and without a card
// list, under each value of untypedCards.
func TestPodRequestFollowsAnnotationAndResource(t *testing.T) {
	f := newFixture().node("a", "A", 8).node("b", "B", 8).queue("q", "", `{"A":1}`)
	two := workload.Resources{gpuName: 1, "example.com/gpu": 3}
	f.Nodes = append(f.Nodes, workload.Node{Name: "e", Labels: map[string]string{"example.com/gpu.product": "E"},
		Allocatable: workload.Resources{"example.com/gpu": 4}})
	charge := []Settings{{Untyped: UntypedCharge}}
	all := []Settings{{Untyped: UntypedCharge}, {Untyped: UntypedReject}, {Untyped: UntypedIgnore}}
	for _, test := range []struct {
		name     string
		settings []Settings
		list     string
		request  workload.Resources
		want     []described
	}{
		{"one card", all, "A", gpus(2), []described{{"A", gpuName, 2}}},
		{"a list keeps its order", all, "B|A", gpus(1), []described{{"B|A", gpuName, 1}}},
		{"a card that no node has", all, "Z", gpus(1), []described{{"Z", gpuName, 1}}},
		{"a card list without a card resource", all, "A", workload.Resources{"cpu": 1}, nil},
		{"an untyped pod requests any card of its resource", charge, "", gpus(2), []described{{gpuName, gpuName, 2}}},
		{"an untyped pod may request several resources", charge, "", two, []described{{"example.com/gpu", "example.com/gpu", 3}, {gpuName, gpuName, 1}}},
		{"an untyped pod under ignore", []Settings{{Untyped: UntypedIgnore}}, "", gpus(2), nil},
		{"a resource that is no card", all, "", workload.Resources{"example.com/nic": 2}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, settings := range test.settings {
				f.settings = settings
				f.open(t)
				_, p := f.read("q", pod(test.list, test.request))
				var got []described
				for r := range f.Requests(p) {
					got = append(got, described{f.Describe(r), f.ResourceName(r.Resource), r.Amount.Cards()})
				}
				assert.ElementsMatch(t, test.want, got, settings.Untyped)
				assert.Equal(t, len(test.want) > 0, f.Uses(p))
			}
		})
	}
}

// TestSelectorOfAListIsShared reads two pods with one list. They share a PodRequest. Its selector has the dimensions
// of the list, in the order of the list.
func TestSelectorOfAListIsShared(t *testing.T) {
	f := newFixture().node("a", "A", 8).node("b", "B", 8).queue("q", "", `{"A":1}`).open(t)
	_, one := f.read("q", pod("B|Z|A", gpus(1)))
	_, same := f.read("q", pod("B|Z|A", gpus(1)))
	_, more := f.read("q", pod("B|Z|A", gpus(2)))
	assert.Same(t, one, same)
	assert.NotSame(t, one, more)
	assert.Same(t, one.selector, more.selector)
	assert.Equal(t, []fastres.Dim{f.dim(t, "B"), f.dim(t, "A")}, one.selector.Dims, "Z has no dimension in this session")
	assert.Equal(t, []int{0, 2}, one.selector.rank)
}

// TestPodWithoutCountedQueue requests no cards.
func TestPodWithoutCountedQueue(t *testing.T) {
	f := newFixture().node("a", "A", 8).queue("q", "", `{"A":1}`).open(t)
	assert.True(t, f.PodRequest(index.None, pod("A", gpus(1))).None())
	assert.True(t, (*Snapshot)(nil).PodRequest(0, pod("A", gpus(1))).None(), "cards count nowhere")
}

// TestAllowedDependsOnNoQuota refuses pods that no quota can admit.
func TestAllowedDependsOnNoQuota(t *testing.T) {
	f := newFixture().node("a", "A", 8).queue("q", "", `{"A":1,"E":1}`)
	f.Nodes = append(f.Nodes, workload.Node{Name: "e", Labels: map[string]string{"example.com/gpu.product": "E"},
		Allocatable: workload.Resources{"example.com/gpu": 4}})
	for _, test := range []struct {
		name    string
		untyped UntypedCards
		list    string
		request workload.Resources
		want    quota.Reason
	}{
		{"a card of the requested resource", UntypedReject, "A", gpus(1), quota.Admitted},
		{"cards of two resources", UntypedReject, "A|E", gpus(1), quota.MixedResources},
		{"a card of another resource", UntypedReject, "A", workload.Resources{"example.com/gpu": 1}, quota.ResourceMismatch},
		{"an untyped pod under reject", UntypedReject, "", gpus(1), quota.UntypedPod},
		{"an untyped pod under charge", UntypedCharge, "", gpus(1), quota.Admitted},
	} {
		t.Run(test.name, func(t *testing.T) {
			f.settings = Settings{Untyped: test.untyped}
			f.open(t)
			q, p := f.read("q", pod(test.list, test.request))
			var refused Request
			v := f.Fit(q, p, &refused, func(fastres.Dim, float64) quota.Verdict { return quota.Verdict{Reason: quota.Admitted, Queue: q} })
			assert.Equal(t, quota.Verdict{Reason: test.want, Queue: q}, v)
			assert.Equal(t, test.want == quota.Admitted, refused.Selector == nil, "the refused request")
		})
	}
}

// TestJobRequestsWithoutPods reads card.request. Bad entries and zeroes request
// nothing; the resource is not known yet.
func TestJobRequestsWithoutPods(t *testing.T) {
	f := newFixture().node("a", "A", 8).queue("q", "", `{"A":1}`).open(t)
	for text, want := range map[string]map[string]float64{
		`{"A":2,"A|B":3}`:        {"A": 2, "A|B": 3},
		`{"A":1,"B":-1,"C":"x"}`: {"A": 1},
		`{"A":0}`:                {},
		`{`:                      {},
	} {
		got := map[string]float64{}
		for _, r := range f.JobRequests(jobInfo(text)) {
			assert.Equal(t, NoResource, r.Resource)
			got[f.Describe(r)] = r.Amount.Cards()
		}
		assert.Equal(t, want, got, text)
	}
}

// TestShownShortensNames bounds the part of a name that a message quotes.
func TestShownShortensNames(t *testing.T) {
	long := make([]byte, 4096)
	for i := range long {
		long[i] = 'x'
	}
	assert.Equal(t, string(long[:200])+"…", Shown(string(long)))
	assert.Equal(t, "A|B", Shown("A|B"))
}
