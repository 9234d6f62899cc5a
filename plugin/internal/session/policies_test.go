package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/record"
	"github.com/capacity-card/capacity-card/plugin/settings"
)

// policies returns the values in force in a queue.
func policies(f *testbed.Fixture, queue string) *policy.Values {
	return f.Own.Intake.Policies(f.Own.Index.Lookup(queue))
}

// TestPoliciesHoldBelow sets policies at several levels. A queue has its own value, or that
// of the nearest ancestor that sets one.
func TestPoliciesHoldBelow(t *testing.T) {
	s := testbed.NewScene().Queue("org", "root").Queue("team", "org").Queue("leaf", "team").Queue("other", "org").Queue("apart", "root").
		Annotate("org", policy.OvercommitFactorKey, "1.5", policy.MaxJobsKey, "20").Annotate("leaf", policy.OvercommitFactorKey, "2")
	f := s.Open(t)
	for queue, factor := range map[string]int64{"org": 1500, "team": 1500, "leaf": 2000, "other": 1500, "apart": 0, "root": 0} {
		assert.Equal(t, factor, policies(f, queue).OvercommitFactor(), queue)
	}
	assert.Equal(t, []int{20, 0}, []int{policies(f, "org").MaxJobs(), policies(f, "leaf").MaxJobs()}, "org counts the jobs of all queues below")
}

// TestFlatQueuesInheritFromTheRoot sets policies on the root of queues without hierarchy. The policies that a queue
// inherits hold in each of them. A bound of the root bounds the root alone.
func TestFlatQueuesInheritFromTheRoot(t *testing.T) {
	s := testbed.NewScene().Queue("root", "").Queue("a", "").Queue("b", "").
		Annotate("root", policy.InqueueTimeoutKey, "30m", policy.FairShareKey, "namespaces,weight=3", policy.OrderKey, "fifo,displace", policy.MaxJobsKey, "1").
		Annotate("b", policy.OrderKey, "displace=off", policy.InqueueTimeoutKey, "0s")
	run := testbed.NewSequence(t, s)
	f := run.Open(t)
	a, b := policies(f, "a"), policies(f, "b")
	namespaces, _ := a.FairShareNamespaces()
	assert.True(t, namespaces)
	assert.Equal(t, []int64{0, 3000}, []int64{a.FairShareWeight(), policies(f, "root").FairShareWeight()}, "a weight is not inherited")
	assert.Equal(t, []bool{true, false}, []bool{a.Displaces(), b.Displaces()})
	assert.Equal(t, policy.Order{Rule: policy.FIFO, Hold: time.Hour}, b.JobOrder(), "a word that is missing is inherited")
	for queue, timeout := range map[string]time.Duration{"root": 30 * time.Minute, "a": 30 * time.Minute, "b": 0} {
		assert.Equal(t, timeout, f.Own.Intake.InqueueTimeout(f.Own.Index.Lookup(queue)), queue)
	}
	assert.Equal(t, []int{1, 0}, []int{policies(f, "root").MaxJobs(), a.MaxJobs()})

	s.Annotate("root", policy.OrderKey, "displace=off,lifo")
	f = run.Open(t)
	assert.True(t, policies(f, "a").Displaces(), "the last good value of all words")
	s.Annotate("root", policy.OrderKey, "lifo", policy.InqueueTimeoutKey, "")
	run.Builder = &session.Builder{Variant: run.Builder.Variant} // a restart
	f = run.Open(t)
	assert.False(t, policies(f, "a").Displaces())
	assert.Zero(t, f.Own.Intake.InqueueTimeout(f.Own.Index.Lookup("a")))
}

// TestPoliciesThatNobodySets share one value.
func TestPoliciesThatNobodySets(t *testing.T) {
	f := testbed.NewScene().Queue("p", "root", "quota", `{"A":1}`).Queue("q", "p").Open(t)
	assert.False(t, f.Own.Intake.HasPolicies())
	assert.Same(t, policies(f, "p"), policies(f, "q"))
}

// TestPoliciesChange edits annotations between sessions. A wrong value leaves the last good
// one in force, and is a Warning event on the queue, once. After a restart nothing is known
// to be good, and a wrong value counts as not set.
func TestPoliciesChange(t *testing.T) {
	s := testbed.NewScene().Queue("org", "root").Queue("q", "org").Annotate("org", policy.OvercommitFactorKey, "3").
		Annotate("q", policy.MaxJobsKey, "20", policy.OvercommitFactorKey, "1.5")
	run := testbed.NewSequence(t, s)
	client, events := testbed.RecordedEvents()
	run.Client = client
	f := run.Open(t)
	before := policies(f, "q")
	f = run.Open(t)
	assert.Same(t, before, policies(f, "q"), "nothing has changed, so nothing is read")

	s.Annotate("q", policy.MaxJobsKey, "many", policy.OvercommitFactorKey, "-1")
	f = run.Open(t)
	assert.Equal(t, 20, policies(f, "q").MaxJobs())
	assert.EqualValues(t, 1500, policies(f, "q").OvercommitFactor())
	for _, text := range []string{
		`annotation volcano.sh/max-jobs: "many" is not a whole number above 0; the last good value stays in force`,
		`annotation volcano.sh/overcommit-factor: "-1" is not a number above 0 with at most 3 decimals, such as 1.5; the last good value stays in force`,
	} {
		event := <-events
		assert.Equal(t, []string{"Queue", "q", v1.EventTypeWarning, record.BadPolicyAnnotation, text},
			[]string{event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Type, event.Reason, event.Message})
	}
	run.Open(t)
	s.Annotate("q", policy.MaxJobsKey, "few")
	f = run.Open(t)
	assert.Equal(t, 20, policies(f, "q").MaxJobs())
	assert.Contains(t, (<-events).Message, `"few"`, "the same warning is recorded again")

	s.Annotate("q", policy.MaxJobsKey, "", "volcano.sh/max-job", "5")
	f = run.Open(t)
	assert.Equal(t, 0, policies(f, "q").MaxJobs())
	event := <-events
	assert.Equal(t, record.BadPolicyAnnotation, event.Reason)
	assert.Equal(t, `annotation volcano.sh/max-job is unknown and has no effect; did you mean "volcano.sh/max-jobs"?`, event.Message)

	run.Builder = &session.Builder{Variant: run.Builder.Variant} // a restart
	f = run.Open(t)
	assert.EqualValues(t, 3000, policies(f, "q").OvercommitFactor(), "that of the parent")
	assert.Contains(t, (<-events).Message, "; it counts as not set")
}

// TestEachPolicyKeepsItsLastGoodValue gives a queue the example of each policy, and then a wrong value.
func TestEachPolicyKeepsItsLastGoodValue(t *testing.T) {
	for _, key := range policy.Keys() {
		t.Run(policy.Short(key), func(t *testing.T) {
			s := testbed.NewScene().Queue("q", "")
			run := testbed.NewSequence(t, s)
			for _, setting := range settings.In(settings.Queue) {
				if setting.Name == key {
					s.Annotate("q", key, setting.Example)
				}
			}
			good := *policies(run.Open(t), "q")
			require.NotEqual(t, policy.Values{}, good, "the table of settings has an example")

			s.Annotate("q", key, "%")
			assert.Equal(t, good, *policies(run.Open(t), "q"))
		})
	}
}

// TestLimitsOfUncountedResources limits resources of holders that the plugin does not count. Each such resource causes
// a Warning event on the queue, once.
func TestLimitsOfUncountedResources(t *testing.T) {
	const scalars = "annotation volcano.sh/card.quota.by: %q has no effect: capacity-card counts cpu, memory and cards; a number without quotes is a limit of cards"
	const odd = `annotation volcano.sh/card.quota.by: "gpus" has no effect: Volcano does not count it`
	const device = `annotation volcano.sh/card.quota.by: "deviceclass/gpu.example.com" has no effect: devices of resource claims have no limits of holders`
	for _, test := range []struct {
		build framework.PluginBuilder
		want  []string
	}{
		{session.New, []string{fmt.Sprintf(scalars, "deviceclass/gpu.example.com"), fmt.Sprintf(scalars, "gpus"), fmt.Sprintf(scalars, testbed.GPU), fmt.Sprintf(scalars, "pods")}},
		{session.NewCapacity, []string{device, odd}},
		{session.NewProportion, []string{device, odd}},
	} {
		t.Run(test.build(nil).Name(), func(t *testing.T) {
			s := testbed.NewScene().Queue("q", "").Annotate("q", card.HolderKey, `{"namespace": {"*": {"A": 1, "cpu": "4", "memory": "1Gi", "pods": "3"}},
				"user": {"*": {"nvidia.com/gpu": "2", "gpus": "1", "deviceclass/gpu.example.com": "1"}}}`)
			s.Build = test.build
			run := testbed.NewSequence(t, s)
			client, events := testbed.RecordedEvents()
			run.Client = client
			run.Open(t)
			for _, want := range test.want {
				event := <-events
				assert.Equal(t, []string{record.BadPolicyAnnotation, want}, []string{event.Reason, event.Message})
			}
			run.Open(t)
			s.Annotate("q", card.HolderKey, "none")
			run.Open(t)
			assert.Contains(t, (<-events).Message, `"none" is not a JSON object`, "the same warning is recorded again")
			var found []string
			for _, p := range inspect.PolicyProblems(test.build(nil).Name(), nil, map[string]string{card.HolderKey: `{"namespace": {"*": {"cpu": "4", "gpus": "1"}}}`}) {
				found = append(found, p.Reason)
			}
			assert.Len(t, found, 1)
		})
	}
	assert.Empty(t, inspect.PolicyProblems("drf", nil, map[string]string{card.HolderKey: `{"namespace": {"*": {"gpus": "1"}}}`}), "a plugin of someone else")
}

// TestPoliciesOfADeletedRoot deletes the root. The tree still has one, without policies.
func TestPoliciesOfADeletedRoot(t *testing.T) {
	s := testbed.NewScene().Queue("q", "root").Queue("root", "").Annotate("root", policy.OvercommitFactorKey, "2")
	run := testbed.NewSequence(t, s)
	assert.EqualValues(t, 2000, policies(run.Open(t), "q").OvercommitFactor())
	s.Queues = s.Queues[:1]
	assert.EqualValues(t, 0, policies(run.Open(t), "q").OvercommitFactor())
}

// TestPoliciesOfANewQueue deletes a queue and creates another one with its name, which has no
// last good value.
func TestPoliciesOfANewQueue(t *testing.T) {
	s := testbed.NewScene().Queue("q", "").Queue("p", "").Annotate("q", policy.MaxJobsKey, "20")
	run := testbed.NewSequence(t, s)
	run.Open(t)
	all := s.Queues
	s.Queues = s.Queues[1:]
	assert.False(t, run.Open(t).Own.Intake.HasPolicies())
	s.Queues = all
	s.Annotate("q", policy.MaxJobsKey, "x")
	assert.Equal(t, 0, policies(run.Open(t), "q").MaxJobs())

	s.Annotate("q", policy.MaxJobsKey, "20")
	assert.Equal(t, 20, policies(run.Open(t), "q").MaxJobs())
	s.Annotate("q", policy.MaxJobsKey, "x")
	run.Edit = func(info *api.ClusterInfo) { info.Queues["q"].Queue.UID = "another" }
	assert.Equal(t, 0, policies(run.Open(t), "q").MaxJobs(), "between two sessions")
}

// TestPolicyHooksDoNotAllocate asks the hooks of a queue with all policies of admission.
func TestPolicyHooksDoNotAllocate(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("root", "").Queue("team", "root", "quota", `{"A":8,"B":8}`).
		Queue("q", "team", "quota", `{"A":8,"B":8}`).Pods("next", "q", "A|B", 2, 1, testbed.InPhase(workload.Inqueue)).
		Pods("later", "q", "A", 1, 1).Pods("large", "q", "A", 7, 1, testbed.Members(7))
	for _, queue := range []string{"team", "q"} {
		s.Annotate(queue, policy.MaxJobsKey, "5", policy.OvercommitFactorKey, "1.5", policy.InqueueTimeoutKey, "1h",
			policy.OrderKey, "displace",
			card.HolderKey, `{"namespace":{"*":{"A":4,"B":4,"cpu":"64"}}}`)
	}
	f := s.Open(t)
	task, later, large := f.Task("next-0"), f.Job("later"), f.Job("large")
	placed := *task
	placed.NodeName = "a"
	event := &framework.Event{Task: &placed}
	for name, call := range map[string]func(){
		"Allocatable":             func() { require.True(t, f.Own.AllocatableOf(f.Queue("q"), task)) },
		"Predicate":               func() { require.NoError(t, f.Own.Predicate(task, f.Nodes["b"])) },
		"Allocate and Deallocate": func() { f.Own.OnAllocate(event); f.Own.OnDeallocate(event) },
		"JobEnqueueable":          func() { require.Equal(t, util.Permit, f.Own.Admit.JobEnqueueable(later)) },
	} {
		call()
		assert.Zero(t, testing.AllocsPerRun(200, call), name)
	}
	require.Equal(t, util.Reject, f.Own.Admit.JobEnqueueable(large))
	assert.Contains(t, large.JobFitErrors, "card.quota.by is <4>")
}
