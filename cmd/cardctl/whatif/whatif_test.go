package whatif

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/store"
	"github.com/capacity-card/capacity-card/quota/evict"
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
	_, ok, err := engine.Settle(t.Context(), w, c, nil)
	require.NoError(t, err)
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

// outcome runs the scheduler on a world.
func outcome(t *testing.T, w *engine.World, c *engine.Configuration) *Outcome {
	t.Helper()
	o, err := Run(t.Context(), w, c, nil)
	require.NoError(t, err)
	return o
}

// TestReclaim adds a job that takes back the cards that its queue has lent.
func TestReclaim(t *testing.T) {
	before, c := settled(t, lending)
	after, _ := settled(t, lending)
	more, _ := world(t, claims)
	after.Groups = append(after.Groups, more.Groups...)
	comparison := Compare(outcome(t, before, c), outcome(t, after, c))

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

// TestNotice lends cards to a job that asks for notice. The simulation goes on at the end of the notice, at a given time
// and with the clock. Two jobs that take cards back have a notice each.
func TestNotice(t *testing.T) {
	grace := strings.Replace(lending, `volcano.sh/preemptable: "true"`, `volcano.sh/preemptable: "true", volcano.sh/eviction-grace: 15m`, 1)
	second := strings.Replace(claims, "{name: claims}", "{name: second}", 1)
	at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		grant   string
		at      time.Time
		notices int
	}{
		"no notice":      {"0s", at, 0},
		"ten minutes":    {"10m", at, 2},
		"what it asks":   {"1h", at, 2},
		"with the clock": {"10m", time.Time{}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w, c := settled(t, grace)
			more, _ := world(t, claims, second)
			w.Groups = append(w.Groups, more.Groups...)
			require.NoError(t, Set(w, "queue/borrower:eviction-grace="+test.grant))
			c.At = test.at

			o := outcome(t, w, c)
			require.True(t, o.Settled)
			var notices, evictions []engine.Event
			for _, e := range o.Events {
				switch e.Kind {
				case engine.Noticed:
					notices = append(notices, e)
				case engine.Evicted:
					evictions = append(evictions, e)
				}
			}
			assert.Len(t, notices, test.notices)
			require.Len(t, evictions, 2)
			for _, e := range notices {
				grant, err := time.ParseDuration(test.grant)
				require.NoError(t, err)
				assert.Less(t, e.Cycle, evictions[0].Cycle)
				assert.Equal(t, "borrower", e.Queue)
				assert.Equal(t, "owner", e.For.Queue)
				if !test.at.IsZero() {
					assert.Equal(t, test.at.Add(min(grant, 15*time.Minute)), *e.Until)
				}
			}
		})
	}
}

// TestEvictionsCount has three jobs that take back lent cards, with and without budgets of evictions. The evictions of
// one cycle count in the next cycles, together with the stored evictions.
func TestEvictionsCount(t *testing.T) {
	for name, test := range map[string]struct {
		setting string
		stored  *store.Stored
		want    int
	}{
		"no budget":                  {"queue/borrower:max-jobs=9", nil, 3},
		"pods of a queue":            {"queue/borrower:eviction-budget=lose=2/1h", nil, 2},
		"pods of other queues":       {"queue/owner:eviction-budget=take=1/1h", nil, 1},
		"beside what is stored":      {"queue/borrower:eviction-budget=lose=2/1h", evictedAgo(10*time.Minute, time.Now()), 1},
		"of a dump of some time ago": {"queue/borrower:eviction-budget=lose=2/1h", evictedAgo(10*time.Minute, time.Now().Add(-48*time.Hour)), 1},
		"too long ago":               {"queue/borrower:eviction-budget=lose=2/1h", evictedAgo(61*time.Minute, time.Now()), 2},
	} {
		t.Run(name, func(t *testing.T) {
			w, c := settled(t, lending)
			more, _ := world(t, claims, strings.Replace(claims, "{name: claims}", "{name: second}", 1), strings.Replace(claims, "{name: claims}", "{name: third}", 1))
			w.Groups = append(w.Groups, more.Groups...)
			require.NoError(t, Set(w, test.setting))
			c.Budgets = test.stored
			evicted := 0
			for _, e := range outcome(t, w, c).Events {
				if e.Kind == engine.Evicted {
					evicted++
				}
			}
			assert.Equal(t, test.want, evicted)
		})
	}
}

// evictedAgo returns a record of usage with one eviction, of a pod of the borrower.
func evictedAgo(ago time.Duration, at time.Time) *store.Stored {
	lost := evict.CountRecord{Seconds: 3600, Times: [][2]int64{{at.Add(-ago).UnixMilli(), 1}}}
	return &store.Stored{Record: store.Record{Evictions: &evict.Record{Lost: map[string]evict.CountRecord{"borrower": lost}}}, Saved: at, Now: at}
}

func number(x float64) *float64 { return &x }

func TestLowerQuotaAndLostNode(t *testing.T) {
	w, c := settled(t, lending)
	require.NoError(t, Set(w, "queue/borrower:cards.A=3"))
	o := outcome(t, w, c)
	assert.Equal(t, 8, o.Findings[0].Pods.Placed, "no pod is evicted for a lower quota")
	assert.Empty(t, o.Events)

	require.NoError(t, Remove(w, "node/node-1", "", Everything))
	o = outcome(t, w, c)
	assert.Equal(t, 0, o.Findings[0].Pods.Placed)
	assert.Equal(t, 8, o.Findings[0].Pods.Waiting)
	assert.Error(t, Remove(w, "node/node-1", "", Everything))
}

func TestLowerQuotaFromTheStart(t *testing.T) {
	w, c := world(t, lending)
	require.NoError(t, Set(w, "queue/borrower:cards.A=3"))
	o := outcome(t, w, c)
	assert.Equal(t, 3, o.Findings[0].Pods.Placed)
	assert.Equal(t, "Queue <borrower> has insufficient <A> quota: requested <1>, total would be <4>, but capability is <3>", o.Findings[0].Message)
}

func TestSet(t *testing.T) {
	w, _ := world(t, lending)
	for _, setting := range []string{
		"queue/owner:cards.NVIDIA-H200/mig-1g.18gb-mixed=5", "queue/owner:cards.A=", "queue/owner:cards.B=25%,min=1", "queue/owner:deservedCards.A=2", "queue/owner:guaranteeCards.B=1",
		"queue/owner:capability.cpu=1500m", "queue/owner:deserved.memory=2Gi", "queue/owner:guarantee.cpu=1", "queue/owner:parent=borrower", "queue/owner:state=Closed",
		"queue/owner:weight=7", "queue/owner:priority=-3", "queue/owner:reclaimable=false",
		"queue/owner:max-jobs=20", "queue/owner:min-runtime=reclaim=30m", "queue/owner:min-runtime=", `queue/owner:card.quota.by={"namespace": {"*": {"A": 1}}}`,
	} {
		require.NoError(t, Set(w, setting), setting)
	}
	q := w.Queue("owner")
	assert.JSONEq(t, `{"NVIDIA-H200/mig-1g.18gb-mixed":5,"B":"25%,min=1"}`, q.Annotations[card.QuotaKey])
	assert.JSONEq(t, `{"A":2}`, q.Annotations[card.DeservedKey])
	assert.JSONEq(t, `{"A":0,"B":1}`, q.Annotations[card.GuaranteeKey])
	assert.Equal(t, int64(1500), q.Spec.Capability.Cpu().MilliValue())
	assert.Equal(t, int64(2<<30), q.Spec.Deserved.Memory().Value())
	assert.Equal(t, "borrower", q.Spec.Parent)
	assert.Equal(t, scheduling.QueueStateClosed, q.Status.State)
	assert.Equal(t, int32(7), q.Spec.Weight)
	assert.Equal(t, int32(-3), q.Spec.Priority)
	assert.False(t, *q.Spec.Reclaimable)
	assert.Equal(t, "20", q.Annotations[policy.MaxJobsKey])
	assert.NotContains(t, q.Annotations, policy.MinRuntimeKey)
	assert.JSONEq(t, `{"namespace": {"*": {"A": 1}}}`, q.Annotations[card.HolderKey])

	for _, field := range []string{"weight", "priority", "reclaimable"} {
		require.NoError(t, Set(w, "queue/owner:"+field+"="))
	}
	q = w.Queue("owner")
	assert.Equal(t, int32(1), q.Spec.Weight, "Volcano's default")
	assert.Zero(t, q.Spec.Priority)
	assert.Nil(t, q.Spec.Reclaimable)

	for _, setting := range []string{
		"", "queue/owner", "queue/owner:cards.A", "owner:cards.A=1", "queue/gone:cards.A=1", "queue/owner:cards.A=x", "queue/owner:cards.A=150%", "queue/owner:cards.A=1.5",
		"queue/owner:cards.A=-1", "queue/owner:capability.cpu=lots", "queue/owner:capability.cpu=1e-2000000000", "queue/owner:state=Ajar", "queue/owner:weight=0",
		"queue/owner:weight=1.5", "queue/owner:priority=high", "queue/owner:reclaimable=maybe", "queue/owner:size=1",
		"queue/owner:max-jobs=0", "queue/owner:reclaim-fence=yes", "queue/owner:maxjobs=1",
	} {
		assert.ErrorIs(t, Set(w, setting), ErrSetting, setting)
	}
}

// TestSetTakesEffect expects the scheduler to follow a changed queue: a queue that cannot be reclaimed keeps its
// borrowed cards.
func TestSetTakesEffect(t *testing.T) {
	w, c := settled(t, lending)
	more, _ := world(t, claims)
	w.Groups = append(w.Groups, more.Groups...)
	require.NoError(t, Set(w, "queue/borrower:reclaimable=false"))
	o := outcome(t, w, c)
	assert.Empty(t, slices.DeleteFunc(o.Events, func(e engine.Event) bool { return e.Kind == engine.Admitted }))
	require.NoError(t, Set(w, "queue/borrower:reclaimable="))
	require.NoError(t, Set(w, "queue/borrower:reclaim-fence=true"))
	o = outcome(t, w, c)
	assert.Empty(t, o.Events)
	require.NoError(t, Set(w, "queue/borrower:reclaim-fence="))
	o = outcome(t, w, c)
	assert.Equal(t, []engine.EventKind{engine.Evicted, engine.Placed}, []engine.EventKind{o.Events[0].Kind, o.Events[1].Kind})
}

func TestUnknownNames(t *testing.T) {
	w, _ := world(t, lending)
	for setting, want := range map[string]string{
		"queue/ower:cards.A=1":  `there is no queue "ower"; did you mean "owner"?`,
		"queue/owner:wieght=1":  `no field "wieght"; did you mean "weight"?`,
		"queue/owner:card.A=1":  `no field "card.A"; did you mean "cards"?`,
		"queue/owner:nothing=1": `no field "nothing": want queue/NAME:FIELD=VALUE`,
	} {
		assert.ErrorContains(t, Set(w, setting), want)
	}
}

// TestFields expects each field to be one that can be set.
func TestFields(t *testing.T) {
	w, _ := world(t, lending)
	all := Fields(w)
	for _, want := range []string{"cards.A=", "guaranteeCards.A=", "capability.cpu=", "deserved.nvidia.com/gpu=", "weight=", "priority=", "reclaimable=", "max-jobs=", "card.quota.by="} {
		assert.Contains(t, all, want)
	}
	for _, field := range all {
		value := map[string]string{"state=": "Open", "reclaimable=": "true", "parent=": "root", "reclaim-fence=": "true", "fair-share=": "on", "inqueue-timeout=": "1m", "order=": "fifo", "soft-quota=": "{}", "min-runtime=": "reclaim=1m",
			"reclaim-delay=": "1m", "card.quota.by=": "{}", "card.budget=": "{}",
			"eviction-budget=": "lose=10/1h", "enforce-quota=": "after=1m", "eviction-grace=": "1m"}[field]
		if value == "" {
			value = "2"
		}
		assert.NoError(t, Set(w, "queue/owner:"+field+value))
	}
}

func TestRemoveJob(t *testing.T) {
	other := strings.Replace(claims, "{name: claims}", "{name: claims, namespace: other}", 1)
	w, _ := world(t, lending, claims, other)
	owners := func() (all []string) {
		for _, g := range w.Groups {
			all = append(all, g.Namespace+"/"+g.Owner)
		}
		return all
	}
	require.ErrorContains(t, Remove(w, "job/claims", "", Everything), "namespaces default, other have one; name it job/NAMESPACE/NAME")
	require.ErrorContains(t, Remove(w, "job/claim", "", Everything), `there is no job "claim"; did you mean "claims"?`)
	require.ErrorContains(t, Remove(w, "job/borrows", "other", Everything), `there is no job "borrows"`)
	require.NoError(t, Remove(w, "job/claims", "other", Everything))
	assert.Equal(t, []string{"default/Job/borrows", "default/Job/claims"}, owners())
	require.NoError(t, Remove(w, "job/default/claims", "", Everything))
	require.NoError(t, Remove(w, "job/borrows", "", Everything))
	assert.Empty(t, owners())
}

// TestRemoveQueue removes queues: one with a job that waits, and one with a job that runs.
func TestRemoveQueue(t *testing.T) {
	child := "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: child}\nspec: {parent: owner}\n"
	w, c := settled(t, lending+child)
	more, _ := world(t, claims)
	w.Groups = append(w.Groups, more.Groups...)
	require.ErrorContains(t, Remove(w, "queue/owner", "", Everything), "it has child queues, which have to be removed first: child")
	for _, queue := range []string{"child", "owner", "borrower"} {
		require.NoError(t, Remove(w, "queue/"+queue, "", Everything))
	}
	assert.Empty(t, w.Queues)
	o := outcome(t, w, c)
	assert.Equal(t, 8, o.Findings[0].Pods.Placed, "the pods run on")
	assert.Equal(t, "Queue <borrower> does not exist", o.Findings[0].Message)
	assert.Equal(t, "Queue <owner> does not exist", o.Findings[1].Message)
	assert.Empty(t, o.Stock.Queues)

	w, _ = world(t, strings.ReplaceAll(lending, "name: owner", "name: default"))
	for object, want := range map[string]string{
		"queue/borower": `there is no queue "borower"; did you mean "borrower"?`, "queue/default": "it cannot be removed from Volcano",
		"node/node-2": `there is no node "node-2"; did you mean "node-1"?`, "pod/p": `a "pod": only a job, a queue or a node`,
		"node": "want job/NAME", "job/": "want job/NAME",
	} {
		err := Remove(w, object, "", Everything)
		require.ErrorIs(t, err, ErrRemoval)
		require.ErrorContains(t, err, want)
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
		assert.Equal(t, want, MissingCard(w, nil, nil, setting), setting)
	}
	assert.Empty(t, MissingCard(&engine.World{}, nil, nil, "queue/owner:cards.X=1"), "no nodes in the input")
}

// TestPatches gives the commands that make a change, quoted for a shell.
func TestPatches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(path, []byte(lending), 0o600))
	objects, err := input.ReadFiles([]string{path}, false, nil, nil)
	require.NoError(t, err)
	c, err := engine.Configure(conf)
	require.NoError(t, err)
	trial, err := Try(t.Context(), objects, c, Change{
		Rights: Everything,
		Add:    input.Parse("manifest", []byte(claims)),
		Set:    []string{"queue/owner:cards.A=9", "queue/owner:weight=3", "queue/owner:capability.cpu=4", "queue/borrower:state=Closed"},
		Remove: []string{"node/node-1", "job/borrows", "job/default/claims"},
	}, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"vcctl queue operate -a close -n borrower",
		`kubectl patch queues.scheduling.volcano.sh owner --type=merge -p '{"metadata":{"annotations":{"volcano.sh/card.quota":"{\"A\":9}"}},"spec":{"capability":{"cpu":"4"},"weight":3}}'`,
		"kubectl apply -f manifest.yaml",
		"kubectl delete node node-1",
		"kubectl delete jobs.batch.volcano.sh -n default borrows",
		"kubectl delete jobs.batch.volcano.sh -n default claims",
	}, trial.Patches)
	assert.Equal(t, []string{
		"kubectl delete -f manifest.yaml",
		"vcctl queue operate -a open -n borrower",
		`kubectl patch queues.scheduling.volcano.sh owner --type=merge -p '{"metadata":{"annotations":{"volcano.sh/card.quota":"{\"A\": 8}"}},"spec":{"capability":null,"weight":1}}'`,
	}, trial.Undo)
	assert.Len(t, objects.Jobs, 1, "the objects stay as they are")
	trial, err = Try(t.Context(), objects, c, Change{Rights: Everything, Add: input.Parse("manifest", []byte(lending))}, nil)
	require.NoError(t, err)
	assert.Empty(t, trial.Undo, "the objects were there before")

	var manifest ManifestError
	_, err = Try(t.Context(), objects, c, Change{Add: input.Parse("manifest", []byte("kind: ["))}, nil)
	require.ErrorAs(t, err, &manifest)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Try(done, objects, c, Change{Set: []string{"queue/owner:weight=3"}, Rights: Everything}, nil)
	require.ErrorIs(t, err, context.Canceled)
}

// countdown is a context that is done when it has been asked some times.
type countdown struct {
	context.Context
	left, late int // questions until it is done, and after that
}

func (c *countdown) Err() error {
	if c.left--; c.left >= 0 {
		return nil
	}
	c.late++
	return context.Canceled
}

// TestTryEnds ends a simulation wherever it looks at its context: between phases, cycles and jobs, and
// within actions.
func TestTryEnds(t *testing.T) {
	_, c := world(t, lending)
	objects := input.Parse("f", []byte(lending))
	for after := 0; ; after++ {
		ctx := &countdown{Context: t.Context(), left: after}
		_, err := Try(ctx, objects, c, Change{Add: input.Parse("manifest", []byte(claims)), Rights: Everything}, nil)
		if err == nil {
			assert.Greater(t, after, 20)
			return
		}
		require.ErrorIs(t, err, context.Canceled)
		require.LessOrEqual(t, ctx.late, 2, "after %d questions", after)
	}
}

func TestQuote(t *testing.T) {
	assert.Equal(t, `a --b=c/d 'e f' '' '$(rm)' 'it'\''s'`, Quote("a", "--b=c/d", "e f", "", "$(rm)", "it's"))
}
