package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/plugin/store"
	"github.com/capacity-card/capacity-card/quota/evict"
)

// jobs explains jobs.
func jobs(t *testing.T, w *engine.World, c *engine.Configuration, o Options) []Finding {
	t.Helper()
	findings, err := Jobs(t.Context(), w, c, o)
	require.NoError(t, err)
	return findings
}

// lending is a cluster of eight cards. The queue borrower has six and deserves four. The queue owner deserves four as
// well, and waits for one more than is idle.
func lending(preemptable string) []string {
	annotated := func(name string) string {
		return `
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: ` + name + `
  annotations:
    volcano.sh/card.quota: '{"NVIDIA-H200": 8}'
    volcano.sh/card.deserved: '{"NVIDIA-H200": 4}'
    volcano.sh/card.guarantee: '{"NVIDIA-H200": 0}'
spec: {weight: 1, reclaimable: true}`
	}
	return []string{
		node("a", h200, 8), annotated("borrower"), annotated("owner"),
		group("runs", "borrower", "Running", pods{n: 6, minimum: 1, limits: gpu, card: h200, node: "a"}) + preemptable,
		group("also", "owner", "Running", pods{n: 2, minimum: 1, limits: gpu, card: h200, node: "a"}),
		group("claims", "owner", "Inqueue", pods{n: 1, minimum: 1, limits: gpu, card: h200}),
	}
}

func TestRunningJob(t *testing.T) {
	w, c := read(t, lending(""), plugin.Name, reclaiming(false))
	findings := jobs(t, w, c, Options{Ahead: true})
	require.Len(t, findings, 3)
	also, claims, runs := findings[0], findings[1], findings[2]

	assert.Equal(t, Running, runs.State)
	assert.Equal(t, "pods of it that are evicted for others: 1", runs.Safety)
	require.Len(t, runs.Reclaimers, 1)
	assert.Equal(t, "default/PodGroup/claims", runs.Reclaimers[0].Owner)
	assert.Equal(t, []string{"runs-5"}, runs.Reclaimers[0].Pods, "what the waiting job needs, and no more")

	assert.Equal(t, "no job can reclaim it: queue owner has no more than it deserves of its cards", also.Safety)
	assert.Empty(t, also.Reclaimers)

	assert.Equal(t, NodesFull, claims.Rule)
	assert.Equal(t, []Evictions{{Owner: "default/PodGroup/runs", Queue: "borrower", Pods: []string{"runs-5"}}}, claims.Evicts)
}

// TestCheckpointsAndNotices says how much work of a running job is not saved, and which of its pods have notice; and
// why a job waits for them.
func TestCheckpointsAndNotices(t *testing.T) {
	ago := func(d time.Duration) string { return time.Now().Add(-d).UTC().Format(time.RFC3339) }
	manifests := lending("")
	manifests[1] = strings.Replace(manifests[1], "annotations:\n", "annotations:\n    volcano.sh/eviction-grace: 10m\n", 1)
	manifests[3] = strings.Replace(manifests[3], "metadata: {name: runs}", "metadata: {name: runs, annotations: {volcano.sh/checkpoint-time: '"+ago(time.Hour)+"', volcano.sh/eviction-grace: 8m}}", 1)
	manifests[3] = strings.ReplaceAll(manifests[3], "status: {phase: Running}", "status: {phase: Running, startTime: '"+ago(5*time.Hour)+"'}")
	until := ago(-5 * time.Minute)
	manifests[3] = strings.Replace(manifests[3], "metadata: {name: runs-0, annotations: {", "metadata: {name: runs-0, annotations: {volcano.sh/eviction-notice: '"+until+"', ", 1)
	w, c := read(t, manifests, plugin.Name, reclaiming(false))
	findings := jobs(t, w, c, Options{Ahead: true})
	require.Len(t, findings, 3)
	claims, runs := findings[1], findings[2]
	assert.Regexp(t, `^the eviction of all its pods would lose 6h0m\d+s of work, since their checkpoints$`, runs.Unsaved)
	assert.Equal(t, "1 of its pods have notice, and may be evicted from "+until+" on", runs.Notice)
	require.Len(t, claims.Evicts, 1)
	assert.Equal(t, "default/PodGroup/runs", claims.Evicts[0].Owner)
	assert.Empty(t, findings[0].Unsaved+findings[0].Notice)
}

// TestJobLosesNothingToItself has a job in which a pod with a higher priority evicts another pod, and one in which both
// are of different jobs.
func TestJobLosesNothingToItself(t *testing.T) {
	w, _ := read(t, []string{queue("q", "", `{"NVIDIA-H200": 2}`, ""),
		group("high", "q", "Inqueue", pods{n: 1, minimum: 1, limits: gpu, card: h200}),
		group("low", "q", "Running", pods{n: 1, minimum: 1, limits: gpu, card: h200}),
	}, plugin.Name, unlimited(false))
	high, low := w.Groups[0], w.Groups[1]
	evictedFor := func(taker *engine.Group) *trial {
		return &trial{events: []engine.Event{{
			Kind: engine.Evicted, Group: "default/low", Owner: low.Owner, Queue: "q", Pod: "low-0",
			For: &engine.Taker{Namespace: "default", Owner: taker.Owner, Queue: "q", Group: string(taker.ID())},
		}}}
	}

	other := evictedFor(high)
	assert.Equal(t, []Evictions{{Owner: "default/PodGroup/low", Queue: "q", Pods: []string{"low-0"}}}, other.takesFor(high))
	assert.Equal(t, []Evictions{{Owner: "default/PodGroup/high", Queue: "q", Pods: []string{"low-0"}}}, other.losesTo(low))

	itself := evictedFor(low)
	assert.Empty(t, itself.takesFor(low))
	assert.Empty(t, itself.losesTo(low))
}

func TestStartableJob(t *testing.T) {
	w, c := read(t, []string{node("a", h200, 2), queue("q", "", `{"NVIDIA-H200": 2}`, ""),
		job("one", "q", pods{n: 2, limits: gpu, card: h200, request: `{"NVIDIA-H200": 2}`}),
		job("two", "q", pods{n: 2, limits: gpu, card: h200, request: `{"NVIDIA-H200": 2}`}),
	}, plugin.Name, unlimited(false))
	findings := jobs(t, w, c, Options{})
	require.Len(t, findings, 2)
	assert.Equal(t, Startable, findings[0].State)
	assert.Equal(t, 2, findings[0].Pods.Fit)
	assert.Empty(t, findings[0].Advice)
	assert.Equal(t, Waiting, findings[1].State, "its cards are reserved for the first one")
	assert.Equal(t, []string{`raising volcano.sh/card.quota of "NVIDIA-H200" of queue q does not help while the nodes have 2 free: free 2 in it`},
		findings[1].Advice)
}

func TestAdviceNamesTheUsers(t *testing.T) {
	w, c := read(t, []string{node("a", h200, 8), queue("q", "", `{"NVIDIA-H200": 4}`, ""),
		group("small", "q", "Running", pods{n: 1, minimum: 1, limits: gpu, card: h200, node: "a"}),
		group("large", "q", "Running", pods{n: 3, minimum: 1, limits: gpu, card: h200, node: "a"}),
		deployment("job", "q", pods{n: 1, limits: gpu, card: h200}),
		job("never", "q", pods{n: 5, limits: gpu, card: h200, request: `{"NVIDIA-H200": 5}`}),
	}, plugin.Name, unlimited(false))
	advice := map[string][]string{}
	for _, f := range jobs(t, w, c, Options{}) {
		advice[f.Owner] = f.Advice
		for _, h := range f.Holders {
			advice[f.Owner] = append(advice[f.Owner], h.String())
		}
	}
	assert.Equal(t, []string{
		`raise volcano.sh/card.quota of "NVIDIA-H200" of queue q to 5, or free 1 in it`,
		"NVIDIA-H200 of q is used by default/PodGroup/large (3), default/PodGroup/small (1)",
	}, advice["Deployment/job"])
	assert.Equal(t, []string{`it can never run in q as it is: raise volcano.sh/card.quota of "NVIDIA-H200" of queue q to 8, or to 5 and free 3 in it, or request less`},
		advice["Job/never"])
}

// TestAdviceNamesTheUsersOfAGroup says who has a group of cards, by card.
func TestAdviceNamesTheUsersOfAGroup(t *testing.T) {
	const h800 = "NVIDIA-H800"
	w, c := read(t, []string{node("a", h200, 8), node("b", h800, 8), queue("q", "", `{"@hopper": 5}`, ""),
		group("mixed", "q", "Running", pods{n: 2, minimum: 1, limits: gpu, card: h200, node: "a"}),
		group("other", "q", "Running", pods{n: 1, minimum: 1, limits: gpu, card: h800, node: "b"}),
		deployment("job", "q", pods{n: 1, limits: gpu, card: h800}),
	}, plugin.Name, unlimited(false, "cardGroups: {hopper: {NVIDIA-H200: 2, NVIDIA-H800: 1}}"))
	for _, f := range jobs(t, w, c, Options{}) {
		if f.Owner != "Deployment/job" {
			continue
		}
		assert.Equal(t, "Queue <q> has insufficient <@hopper> quota: requested <1>, total would be <6>, but capability is <5> (NVIDIA-H200, NVIDIA-H800)", f.Message)
		assert.Equal(t, []string{`raise volcano.sh/card.quota of "@hopper" of queue q to 6, or free 1 in it`}, f.Advice)
		require.Len(t, f.Holders, 1)
		assert.Equal(t, "@hopper of q is used by default/PodGroup/mixed (4: 2 NVIDIA-H200), default/PodGroup/other (1: 1 NVIDIA-H800)", f.Holders[0].String())
		return
	}
	t.Fatal("the Deployment does not wait")
}

// TestAdviceKnowsWhatIsFree has a quota of all cards of the nodes: a higher one gives a job nothing.
func TestAdviceKnowsWhatIsFree(t *testing.T) {
	w, c := read(t, []string{node("a", h200, 3), queue("q", "", `{"NVIDIA-H200": 3}`, ""),
		group("runs", "q", "Running", pods{n: 2, minimum: 1, limits: gpu, card: h200, node: "a"}),
		job("waits", "q", pods{n: 2, limits: gpu, card: h200, request: `{"NVIDIA-H200": 2}`}),
	}, plugin.Name, unlimited(false))
	for _, f := range jobs(t, w, c, Options{}) {
		if f.Owner == "Job/waits" {
			assert.Equal(t, []string{
				`raising volcano.sh/card.quota of "NVIDIA-H200" of queue q does not help while the nodes have 1 free: free 1 in it`,
			}, f.Advice)
			require.Len(t, f.Holders, 1)
			assert.Equal(t, "NVIDIA-H200 of q is used by default/PodGroup/runs (2)", f.Holders[0].String())
			return
		}
	}
	t.Error("the job is not explained")
}

// TestAdviceForEachCardOfAList has a pod wait for two cards for different causes.
func TestAdviceForEachCardOfAList(t *testing.T) {
	w, c := read(t, []string{node("a", h200, 4), node("b", h800, 4), queue("top", "", "", ""),
		withAnnotation(queue("q", "top", `{"NVIDIA-H200": 4, "NVIDIA-H800": 1}`, ""), `volcano.sh/card.guarantee: '{"NVIDIA-H200": 0, "NVIDIA-H800": 0}'`),
		queue("owner", "top", `{"NVIDIA-H200": 3}`, ""),
		group("runs", "q", "Running", pods{n: 1, minimum: 1, limits: gpu, card: h200, node: "a"}),
		group("also", "q", "Running", pods{n: 1, minimum: 1, limits: gpu, card: h800, node: "b"}),
		group("waits", "q", "Inqueue", pods{n: 1, minimum: 1, limits: gpu, card: h800 + "|" + h200}),
	}, plugin.Name, unlimited(true))
	for _, f := range jobs(t, w, c, Options{}) {
		if f.Name == "waits" {
			assert.Equal(t, []string{
				`raise volcano.sh/card.quota of "NVIDIA-H800" of queue q to 2, or free 1 in it`,
				"wait for pods to end, or lower what is guaranteed to queues that do not use it: spec.guarantee, or volcano.sh/card.guarantee",
				"queue owner is guaranteed 3 NVIDIA-H200 and has 0",
			}, f.Advice)
			require.Len(t, f.Holders, 1)
			assert.Equal(t, "NVIDIA-H800 of q is used by default/PodGroup/also (1)", f.Holders[0].String())
			return
		}
	}
	t.Error("the job is not explained")
}

// TestAdviceNamesWhereTheBoundIsSet has bounds that a queue inherits, that others
// are guaranteed, and that the cluster sets.
func TestAdviceNamesWhereTheBoundIsSet(t *testing.T) {
	advice := func(level string, queues ...string) string {
		w, c := read(t, append(queues, node("a", h200, 8), job("job", "q", pods{n: 1, limits: "cpu: 40"})), plugin.CapacityName, "")
		findings := jobs(t, w, c, Options{})
		require.Len(t, findings, 1)
		require.Equal(t, level, findings[0].Level)
		return findings[0].Advice[0]
	}
	assert.Equal(t, "it can never run in q as it is: raise spec.capability.cpu of queue q to 40, or request less",
		advice("q", queue("q", "", "", "capability: {cpu: 2}")))
	assert.Equal(t, "it can never run in q as it is: raise spec.capability.cpu of queue top to 40, or request less",
		advice("top", queue("top", "", "", "capability: {cpu: 2}"), queue("q", "top", "", "")))
	assert.Equal(t, "10 cpu are missing in q: the guarantees of other queues, or the cluster's total, lower its bound",
		advice("q", queue("q", "", "", "capability: {cpu: 64}"), queue("other", "", "", "guarantee: {resource: {cpu: 34}}")))
	assert.Equal(t, "10 cpu are missing: the cluster's total less the guarantees of other queues bounds q",
		advice("q", queue("q", "", "", ""), queue("other", "", "", "guarantee: {resource: {cpu: 34}}")))
}

func TestMatches(t *testing.T) {
	f := Finding{Namespace: "team", Name: "podgroup-1234", Owner: "ReplicaSet/web-5d4f"}
	for _, name := range []string{"podgroup-1234", "team/podgroup-1234", "web-5d4f", "web", "ReplicaSet/web-5d4f", "team/ReplicaSet/web-5d4f"} {
		assert.True(t, f.Matches(name), name)
	}
	for _, name := range []string{"", "we", "other/web-5d4f", "team"} {
		assert.False(t, f.Matches(name), name)
	}
}

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		resource string
		quantity float64
		want     string
	}{
		{"cpu", 0.5, "0.5"}, {"cpu", 1000000, "1000000"}, {"memory", 3 << 30, "3Gi"}, {"memory", 1 << 29, "0.5Gi"},
		{h200, 7, "7"}, {"cpu", 9.2e15, "unlimited"},
	} {
		assert.Equal(t, c.want, Amount(c.resource, c.quantity))
	}
}

// TestPromiseThatIsOver explains a job that no node has room for and that was Inqueue for longer
// than its queue allows. Another one is admitted into its place.
func TestPromiseThatIsOver(t *testing.T) {
	stuck := strings.Replace(group("stuck", "q", "Inqueue", pods{n: 2, minimum: 2, limits: gpu, card: h200}), "status: {phase: Inqueue}",
		"status: {phase: Inqueue, conditions: [{type: Inqueue, status: \"True\", lastTransitionTime: \"2026-01-01T00:00:00Z\"}]}", 1)
	for timeout, want := range map[string]State{"1h": Startable, "0s": Waiting} {
		w, c := read(t, []string{node("a", h200, 1), withAnnotation(queue("q", "", `{"NVIDIA-H200": 2}`, ""), "volcano.sh/inqueue-timeout: "+timeout),
			stuck, job("next", "q", pods{n: 1, limits: gpu, card: h200, request: `{"NVIDIA-H200": 1}`}),
		}, plugin.Name, unlimited(false))
		findings := map[string]Finding{}
		for _, f := range jobs(t, w, c, Options{}) {
			findings[f.Owner] = f
		}
		assert.Equal(t, want, findings["Job/next"].State, timeout)
		over := strings.Contains(strings.Join(findings["PodGroup/stuck"].Advice, "\n"), "its minimum is not reserved any more, since it was Inqueue for too long")
		assert.Equal(t, want == Startable, over, "%v", findings["PodGroup/stuck"])
		assert.Equal(t, over, findings["PodGroup/stuck"].TimedOut)
	}
}

// TestDisplacedJob explains a job that another one with a higher priority takes the place of.
// cardctl simulate has an event.
func TestDisplacedJob(t *testing.T) {
	high := strings.Replace(job("high", "q", pods{n: 2, minimum: 2, limits: gpu, card: h200, request: `{"NVIDIA-H200": 2}`}), "spec:", "spec:\n  priorityClassName: high", 1)
	manifests := []string{withAnnotation(queue("q", "", `{"NVIDIA-H200": 2}`, ""), "volcano.sh/order: displace"), node("a", "B", 1), "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 7",
		group("low", "q", "Inqueue", pods{n: 2, minimum: 2, limits: gpu, card: h200}), high}
	w, c := read(t, manifests, plugin.Name, unlimited(false, "reclaimByServiceType: false"))
	findings := jobs(t, w, c, Options{})
	require.Len(t, findings, 2)
	low := findings[slices.IndexFunc(findings, func(f Finding) bool { return f.Owner == "PodGroup/low" })]
	assert.Equal(t, []any{Waiting, Enqueue}, []any{low.State, low.Stage})
	assert.Contains(t, low.Advice, "a job of its queue with a higher priority is admitted in its place (displace in the order of the queue)")

	w, _ = read(t, manifests, plugin.Name, unlimited(false, "reclaimByServiceType: false"))
	events, _, err := engine.Settle(t.Context(), w, c, nil)
	require.NoError(t, err)
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprint(e.Kind, " ", e.Owner))
	}
	assert.ElementsMatch(t, []string{"Admitted Job/high", "Displaced PodGroup/low"}, got)
}

// TestPoliciesOfReclaim sets policies of the queues and jobs of lending. cardctl says who can
// reclaim the running job, and why nothing is evicted for the waiting one.
func TestPoliciesOfReclaim(t *testing.T) {
	for name, test := range map[string]struct {
		argument       string
		queue, owner   string // an annotation of the queues borrower and owner
		runs, claims   string // the service classes of the jobs
		safety, advice string
		taken          bool
		spared         string // the queue with the policy, and the number of pods
	}{
		"a fence": {queue: `volcano.sh/reclaim-fence: "true"`,
			safety: "the next cycles evict none of its pods; queue borrower has more than it deserves: 2 NVIDIA-H200 (6 of 4 deserved)",
			advice: "6 pods of default/PodGroup/runs are spared: volcano.sh/reclaim-fence of queue borrower", spared: "borrower 6"},
		"a budget of evictions that has room": {queue: `volcano.sh/eviction-budget: lose=1/1h`, taken: true,
			safety: "pods of it that are evicted for others: 1"},
		"a minimum runtime": {queue: `volcano.sh/min-runtime: reclaim=30m`, spared: "borrower 6", safety: "no job can reclaim it: it runs for less than 30m0s, its queue's volcano.sh/min-runtime"},
		"a fence around the queue of the waiting job": {owner: `volcano.sh/reclaim-fence: "true"`, spared: "owner 6",
			safety: "the next cycles evict none of its pods; queue borrower has more than it deserves: 2 NVIDIA-H200 (6 of 4 deserved)",
			advice: "6 pods of default/PodGroup/runs are spared: volcano.sh/reclaim-fence of queue owner"},
		"training":  {argument: "reclaimByServiceType: true", runs: "training", claims: "inference", taken: true, safety: "pods of it that are evicted for others: 1"},
		"inference": {argument: "reclaimByServiceType: true", runs: "inference", safety: "no job can reclaim it: it has the service class inference"},
		"a training job waits": {argument: "reclaimByServiceType: true", claims: "training", safety: "the next cycles evict none of its pods; queue borrower has more than it deserves: 2 NVIDIA-H200 (6 of 4 deserved)",
			advice: "nothing is evicted for it: Queue <owner> takes nothing from other queues for the pod: its service class is training"},
	} {
		t.Run(name, func(t *testing.T) {
			manifests := lending("")
			if test.owner != "" {
				manifests[2] = strings.Replace(manifests[2], "annotations:\n", "annotations:\n    "+test.owner+"\n", 1)
			}
			if test.queue != "" {
				manifests[1] = strings.Replace(manifests[1], "annotations:\n", "annotations:\n    "+test.queue+"\n", 1)
			}
			classify := func(i int, name, class string) {
				if class != "" {
					manifests[i] = strings.Replace(manifests[i], "metadata: {name: "+name+"}", "metadata: {name: "+name+", annotations: {volcano.sh/service.type: "+class+"}}", 1)
				}
			}
			classify(3, "runs", test.runs)
			classify(5, "claims", test.claims)
			w, c := read(t, manifests, plugin.Name, reclaiming(false, cmp.Or(test.argument, "reclaimByServiceType: false")))
			findings := jobs(t, w, c, Options{Ahead: true})
			require.Len(t, findings, 3)
			claims, runs := findings[1], findings[2]
			assert.Equal(t, card.List{"NVIDIA-H200"}, claims.Cards)
			assert.Empty(t, runs.Cards, "it does not wait")
			assert.Equal(t, test.safety, runs.Safety)
			assert.Equal(t, test.taken, len(runs.Reclaimers) > 0)
			if test.advice != "" {
				assert.Contains(t, claims.Advice, test.advice)
			}
			refused := claims.Claim != nil && claims.Claim.Refused != nil
			assert.Equal(t, test.claims == "training", refused && claims.Claim.Refused.Rule == report.TrainingJob)
			if test.spared != "" {
				require.NotNil(t, claims.Claim)
				require.Len(t, claims.Claim.Spared, 1)
				assert.Equal(t, test.spared, fmt.Sprint(claims.Claim.Spared[0].Queue, " ", claims.Claim.Spared[0].Pods))
			}
		})
	}
}

// TestUsedUpBudgets names the time at which the next pod may be evicted, for the queue that would lose it and for the
// one that would take it.
func TestUsedUpBudgets(t *testing.T) {
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	used := map[string]evict.CountRecord{"borrower": {Seconds: 3600, Times: [][2]int64{{noon.Add(-20 * time.Minute).UnixMilli(), 1}}}}
	used["owner"] = used["borrower"]
	for word, of := range map[string]int{"lose": 1, "take": 2} {
		manifests := lending("")
		manifests[of] = strings.Replace(manifests[of], "annotations:\n", "annotations:\n    volcano.sh/eviction-budget: "+word+"=1/1h\n", 1)
		w, c := read(t, manifests, plugin.Name, reclaiming(false, "reclaimByServiceType: false"))
		c.Budgets, c.At = &store.Stored{Record: store.Record{Evictions: &evict.Record{Lost: used, Taken: used}}, Saved: noon, Now: noon}, noon
		claims := jobs(t, w, c, Options{Ahead: true})[1]
		if of == 1 {
			assert.Contains(t, claims.Advice, "6 pods of default/PodGroup/runs are spared until 2026-12-01T12:40Z: volcano.sh/eviction-budget (lose) of queue borrower")
			continue
		}
		require.NotNil(t, claims.Claim)
		require.NotNil(t, claims.Claim.Refused)
		assert.Equal(t, report.ReclaimBudgetUsed, claims.Claim.Refused.Rule)
		assert.Contains(t, claims.Advice,
			"nothing is evicted for it: Queue <owner> takes nothing from other queues until 2026-12-01T12:40Z: eviction-budget is take=1/1h")
	}
}
