package whatif

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index/card"
)

// two queues share eight cards; borrower's job takes all it gets.
const lending = `
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {nvidia.com/gpu.product: A, kubernetes.io/hostname: node-1}}
status: {allocatable: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 8}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: borrower
  annotations: {volcano.sh/card.quota: '{"A": 8}', volcano.sh/card.deserved: '{"A": 4}', volcano.sh/card.guarantee: '{"A": 0}'}
spec: {weight: 1, reclaimable: true}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: owner
  annotations: {volcano.sh/card.quota: '{"A": 8}', volcano.sh/card.deserved: '{"A": 4}', volcano.sh/card.guarantee: '{"A": 0}'}
spec: {weight: 1, reclaimable: true}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: borrows, annotations: {volcano.sh/preemptable: "true"}}
spec:
  queue: borrower
  minAvailable: 1
  tasks: [{name: w, replicas: 8, template: {metadata: {annotations: {volcano.sh/card.name: A}}, spec: {containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}}]
`

const claims = `
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: claims}
spec:
  queue: owner
  minAvailable: 1
  tasks: [{name: w, replicas: 1, template: {metadata: {annotations: {volcano.sh/card.name: A}}, spec: {containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}}]
`

const conf = `
actions: "enqueue, allocate, reclaim"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
  - name: capacity-card
    arguments: {unsetCapability: unlimited}
- plugins:
  - name: predicates
`

func world(t *testing.T, manifests ...string) (*engine.World, *engine.Configuration) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(manifests, "\n---\n")), 0o600))
	objects, err := input.ReadFiles([]string{path}, false, nil, nil)
	require.NoError(t, err)
	require.Empty(t, objects.Problems)
	configuration, err := engine.Configure(conf)
	require.NoError(t, err)
	w, err := engine.Build(objects)
	require.NoError(t, err)
	return w, configuration
}

// settled is a world that was left alone for a while.
func settled(t *testing.T, manifests ...string) (*engine.World, *engine.Configuration) {
	t.Helper()
	w, c := world(t, manifests...)
	_, ok := engine.Settle(w, c, nil)
	require.True(t, ok)
	return w, c
}

func job(c *Comparison, owner string) JobChange {
	for _, j := range c.Jobs {
		if j.Owner == owner {
			return j
		}
	}
	return JobChange{}
}

// TestReclaim adds a job that takes back what its queue has lent.
func TestReclaim(t *testing.T) {
	before, c := settled(t, lending)
	after, _ := settled(t, lending)
	more, _ := world(t, claims)
	after.Groups = append(after.Groups, more.Groups...)
	comparison := Compare(Run(before, c, nil), Run(after, c, nil))

	borrows := job(comparison, "Job/borrows")
	assert.True(t, borrows.Changed())
	assert.Equal(t, 8, borrows.Before.Pods.Placed)
	assert.Equal(t, 7, borrows.After.Pods.Placed)
	assert.Equal(t, 1, borrows.After.Pods.Waiting, "the pod that was evicted comes back")
	claiming := job(comparison, "Job/claims")
	assert.Nil(t, claiming.Before)
	assert.Equal(t, explain.Running, claiming.After.State)

	kinds := map[engine.EventKind]int{}
	for _, e := range comparison.After.Events {
		kinds[e.Kind]++
	}
	assert.Equal(t, map[engine.EventKind]int{engine.Admitted: 1, engine.Evicted: 1, engine.Placed: 1}, kinds)
	assert.Empty(t, comparison.Before.Events)
	assert.True(t, comparison.After.Settled)
	assert.Equal(t, []CardChange{
		{Queue: "borrower", Card: "A", Before: 8, After: 7, BeforeQuota: number(8), AfterQuota: number(8)},
		{Queue: "owner", Card: "A", Before: 0, After: 1, BeforeQuota: number(8), AfterQuota: number(8)},
	}, comparison.Queues)
}

func number(x float64) *float64 { return &x }

func TestLowerQuotaAndLostNode(t *testing.T) {
	w, c := settled(t, lending)
	require.NoError(t, Set(w, "queue/borrower:cards.A=3"))
	o := Run(w, c, nil)
	assert.Equal(t, 8, o.Findings[0].Pods.Placed, "no pod is evicted for a lower quota")
	assert.Empty(t, o.Events)

	require.NoError(t, Remove(w, "node/node-1", ""))
	o = Run(w, c, nil)
	assert.Equal(t, 0, o.Findings[0].Pods.Placed)
	assert.Equal(t, 8, o.Findings[0].Pods.Waiting)
	assert.Error(t, Remove(w, "node/node-1", ""))
}

func TestLowerQuotaFromTheStart(t *testing.T) {
	w, c := world(t, lending)
	require.NoError(t, Set(w, "queue/borrower:cards.A=3"))
	o := Run(w, c, nil)
	assert.Equal(t, 3, o.Findings[0].Pods.Placed)
	assert.Equal(t, "Queue <borrower> has insufficient <A> quota: requested <1>, total would be <4>, but capability is <3>", o.Findings[0].Message)
}

func TestSet(t *testing.T) {
	w, _ := world(t, lending)
	for _, setting := range []string{
		"queue/owner:cards.NVIDIA-H200/mig-1g.18gb-mixed=5", "queue/owner:cards.A=", "queue/owner:deservedCards.A=2", "queue/owner:guaranteeCards.B=1",
		"queue/owner:capability.cpu=1500m", "queue/owner:deserved.memory=2Gi", "queue/owner:guarantee.cpu=1", "queue/owner:parent=borrower", "queue/owner:state=Closed",
	} {
		require.NoError(t, Set(w, setting), setting)
	}
	q := w.Queue("owner")
	assert.JSONEq(t, `{"NVIDIA-H200/mig-1g.18gb-mixed":5}`, q.Annotations[card.QuotaKey])
	assert.JSONEq(t, `{"A":2}`, q.Annotations[card.DeservedKey])
	assert.JSONEq(t, `{"A":0,"B":1}`, q.Annotations[card.GuaranteeKey])
	assert.Equal(t, int64(1500), q.Spec.Capability.Cpu().MilliValue())
	assert.Equal(t, int64(2<<30), q.Spec.Deserved.Memory().Value())
	assert.Equal(t, "borrower", q.Spec.Parent)
	assert.Equal(t, scheduling.QueueStateClosed, q.Status.State)

	for _, setting := range []string{
		"", "queue/owner", "queue/owner:cards.A", "owner:cards.A=1", "queue/gone:cards.A=1", "queue/owner:cards.A=x", "queue/owner:cards.A=1.5",
		"queue/owner:cards.A=-1", "queue/owner:capability.cpu=lots", "queue/owner:state=Ajar", "queue/owner:weight=1",
	} {
		assert.ErrorIs(t, Set(w, setting), ErrSetting, setting)
	}
}

func TestMissingCard(t *testing.T) {
	w, _ := world(t, strings.ReplaceAll(lending, "product: A", "product: NVIDIA-H200"))
	for setting, want := range map[string]string{
		"queue/owner:cards.NVIDIA-H20=9":          `no node has the card "NVIDIA-H20"; did you mean "NVIDIA-H200"?`,
		"queue/owner:deservedCards.NVIDIA-A100=9": `no node has the card "NVIDIA-A100"`,
		"queue/owner:guaranteeCards.X=1":          `no node has the card "X"`,
		"queue/owner:cards.NVIDIA-H200=9":         "",
		"queue/owner:cards.X=":                    "",
		"queue/owner:cards.X=0":                   "",
		"queue/owner:capability.cpu=9":            "",
	} {
		assert.Equal(t, want, MissingCard(w, setting), setting)
	}
	assert.Empty(t, MissingCard(&engine.World{}, "queue/owner:cards.X=1"), "no nodes in the input")
}
