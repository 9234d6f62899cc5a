package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/quota"
)

// TestExplainCards is the example of the package, and other refusals of cards.
// Each shortage names the first queue on the path that is over a bound.
func TestExplainCards(t *testing.T) {
	f := newFixture(t)
	overQuota, overDeserved := quota.Verdict{Reason: quota.OverQuota, Queue: f.q}, quota.Verdict{Reason: quota.OverDeserved, Queue: f.q}
	f.Index.Deserved.Row(f.q).Set(f.h200, 2000)
	over := func(queue, resource string, requested, total, bound float64) Shortage {
		return Shortage{Queue: queue, Resource: resource, Requested: requested, Total: total, Bound: bound, Against: "capability"}
	}
	for _, test := range []struct {
		name    string
		refusal Refusal
		want    []Shortage
	}{
		{"the example of the package", Refusal{Verdict: overQuota, Cards: f.request(h200, 2)},
			[]Shortage{over("research", h200, 2, 4, 3)}},
		{"each card of a list", Refusal{Verdict: overQuota, Cards: f.request(h800+"|"+h200, 2)},
			[]Shortage{over("research", h800, 2, 3, 1), over("research", h200, 2, 4, 3)}},
		{"a card that fits is no shortage", Refusal{Verdict: overQuota, Cards: f.request(h800+"|"+h200, 1)},
			[]Shortage{over("research", h800, 1, 2, 1)}},
		{"an unknown card has no quota", Refusal{Verdict: overQuota, Cards: f.request("NVIDIA-Z", 2)},
			[]Shortage{over("research", "NVIDIA-Z", 2, 2, 0)}},
		{"the sum over the cards of a list", Refusal{Verdict: overQuota, Cards: f.request(h200+"|"+h800, 2), Admission: true, Shared: true},
			[]Shortage{over("research", h200+"|"+h800, 2, 5, 4)}},
		{"deserved", Refusal{Verdict: overDeserved, Cards: f.request(h200, 1)},
			[]Shortage{{Queue: "research", Resource: h200, Requested: 1, Total: 3, Bound: 2, Against: "deserved"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			reason := f.Explain(test.refusal)
			require.NotNil(t, reason)
			assert.Equal(t, test.want, reason.Shortages)
			assert.Equal(t, "research", reason.Queue)
		})
	}
	assert.Equal(t, "Queue <research> has insufficient <NVIDIA-H200> quota: requested <2>, total would be <4>, but capability is <3>",
		f.Explain(Refusal{Verdict: overQuota, Cards: f.request(h200, 2)}).String())

	team := f.Index.Lookup("team")
	f.Index.RealCapability.Row(team).Set(f.h200, 2000)
	f.Index.RealCapability.Row(f.q).Set(f.h200, 9000)
	assert.Equal(t, []Shortage{over("team", h200, 1, 3, 2)}, f.Explain(Refusal{Verdict: overQuota, Cards: f.request(h200, 1)}).Shortages)
}

// TestExplainResources lists the exceeded dimensions in the order of their names.
// Reservations count where a job is admitted.
func TestExplainResources(t *testing.T) {
	f := newFixture(t)
	f.allocate(fastres.CPU, 1000)
	f.Index.Inqueue.Row(f.q).Set(fastres.CPU, 500)
	f.Index.Elastic.Row(f.q).Set(fastres.CPU, 250)
	refusal := Refusal{Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: f.q}, Request: f.vector(1000, 1<<30)}
	memory := Shortage{Queue: "research", Resource: "memory", Requested: 1 << 30, Total: 1 << 30, Bound: 512 << 20, Against: "capability"}
	cpu := Shortage{Queue: "research", Resource: "cpu", Requested: 1, Total: 2, Bound: 1.5, Against: "capability"}
	assert.Equal(t, []Shortage{cpu, memory}, f.Explain(refusal).Shortages)
	refusal.Admission, cpu.Total = true, 2.25
	assert.Equal(t, []Shortage{cpu, memory}, f.Explain(refusal).Shortages)

	f.session.Limit = &f.Index.Deserved
	refusal.Admission, cpu.Total, cpu.Bound, cpu.Against, memory.Bound, memory.Against = false, 2, 0, "deserved", 0, "deserved"
	assert.Equal(t, []Shortage{cpu, memory}, f.Explain(refusal).Shortages, "proportion bounds allocation by deserved")
}

// TestExplainQueues explains refusals that are about no request.
func TestExplainQueues(t *testing.T) {
	f := newFixture(t)
	assert.Nil(t, f.Explain(Refusal{Verdict: quota.Verdict{Reason: quota.Admitted, Queue: f.q}}))
	assert.Equal(t, &Reason{Rule: UnknownQueue}, f.Explain(Refusal{Verdict: quota.Verdict{Reason: quota.UnknownQueue, Queue: index.None}}))
	assert.Equal(t, &Reason{Rule: ClosedQueue, Queue: "research"}, f.Explain(Refusal{Verdict: quota.Verdict{Reason: quota.ClosedQueue, Queue: f.q}}))
	lost := f.Index.Lookup("lost")
	assert.Equal(t, &Reason{Rule: BrokenQueue, Queue: "lost", Detail: f.Index.Broken(lost).Error()},
		f.Explain(Refusal{Verdict: quota.Verdict{Reason: quota.BrokenQueue, Queue: lost}}))
}

// TestExplainNode explains why a node is not used.
func TestExplainNode(t *testing.T) {
	f := newFixture(t)
	list, untyped := f.request("NVIDIA-B300|"+h200, 1), f.request("", 1)
	assert.Nil(t, f.ExplainNode(cards.NodeFit{}))
	assert.Equal(t, "node(s) have none of the cards <NVIDIA-B300|NVIDIA-H200>", f.ExplainNode(cards.NodeFit{Reason: cards.NoSuchCard, Request: list}).String())
	assert.Equal(t, "node(s) have no <nvidia.com/gpu>", f.ExplainNode(cards.NodeFit{Reason: cards.NoSuchCard, Request: untyped}).String())
	assert.Equal(t, "node(s) have <nvidia.com/gpu> but lack the label nvidia.com/gpu.product, which names the card",
		f.ExplainNode(cards.NodeFit{Reason: cards.MissingLabel, Request: untyped, Label: "nvidia.com/gpu.product"}).String())
	over := cards.NodeFit{Reason: cards.OverQuota, Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: f.q}, Request: f.request(h200, 2)}
	assert.Equal(t, "Queue <research> has insufficient <NVIDIA-H200> quota: requested <2>, total would be <4>, but capability is <3>",
		f.ExplainNode(over).String())
}

// TestReadable converts milli-units to the units of messages.
func TestReadable(t *testing.T) {
	assert.Equal(t, 1.5, format.Readable(fastres.CPU, 1500))
	assert.Equal(t, 1500.0, format.Readable(fastres.Memory, 1500))
	assert.Equal(t, 3.0, format.Readable(fastres.Pods, 3))
	assert.Equal(t, 2.0, format.Readable(fastres.FirstFree, 2000))
}
