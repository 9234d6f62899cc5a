package session

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/record"
)

// annotate sets policies of a queue of a scene. "" removes one.
func (s *scene) annotate(queue string, pairs ...string) *scene {
	for i := range s.Queues {
		if s.Queues[i].Name != queue {
			continue
		}
		own := map[string]string{}
		for key, text := range s.Queues[i].Annotations {
			own[key] = text
		}
		for p := 0; p < len(pairs); p += 2 {
			if own[pairs[p]] = pairs[p+1]; pairs[p+1] == "" {
				delete(own, pairs[p])
			}
		}
		s.Queues[i].Annotations = own
	}
	return s
}

// policies returns the values in force in a queue.
func (f *fixture) policies(queue string) *policy.Values {
	return f.own.Intake.Policies(f.own.Index.Lookup(queue))
}

// TestPoliciesHoldBelow sets policies at several levels. A queue has its own value, or that
// of the nearest ancestor that sets one.
func TestPoliciesHoldBelow(t *testing.T) {
	s := newScene().queue("org", "root").queue("team", "org").queue("leaf", "team").queue("other", "org").queue("apart", "root").
		annotate("org", policy.OvercommitFactorKey, "1.5", policy.MaxJobsKey, "20").annotate("leaf", policy.OvercommitFactorKey, "2")
	f := s.open(t)
	for queue, factor := range map[string]int64{"org": 1500, "team": 1500, "leaf": 2000, "other": 1500, "apart": 0, "root": 0} {
		assert.Equal(t, factor, f.policies(queue).OvercommitFactor(), queue)
	}
	assert.Equal(t, []int{20, 0}, []int{f.policies("org").MaxJobs(), f.policies("leaf").MaxJobs()}, "org counts the jobs of all queues below")
}

// TestPoliciesThatNobodySets share one value.
func TestPoliciesThatNobodySets(t *testing.T) {
	f := newScene().queue("p", "root", "quota", `{"A":1}`).queue("q", "p").open(t)
	assert.False(t, f.own.Intake.HasPolicies())
	assert.Same(t, f.policies("p"), f.policies("q"))
}

// TestPoliciesChange edits annotations between sessions. A wrong value leaves the last good
// one in force, and is a Warning event on the queue, once. After a restart nothing is known
// to be good, and a wrong value counts as not set.
func TestPoliciesChange(t *testing.T) {
	s := newScene().queue("org", "root").queue("q", "org").annotate("org", policy.OvercommitFactorKey, "3").
		annotate("q", policy.MaxJobsKey, "20", policy.OvercommitFactorKey, "1.5")
	run := newSequence(t, s)
	client, events := recordedEvents()
	run.client = client
	f := run.open(t)
	before := f.policies("q")
	f = run.open(t)
	assert.Same(t, before, f.policies("q"), "nothing has changed, so nothing is read")

	s.annotate("q", policy.MaxJobsKey, "many", policy.OvercommitFactorKey, "-1")
	f = run.open(t)
	assert.Equal(t, 20, f.policies("q").MaxJobs())
	assert.EqualValues(t, 1500, f.policies("q").OvercommitFactor())
	for _, text := range []string{
		`annotation volcano.sh/max-jobs: "many" is not a whole number above 0; the last good value stays in force`,
		`annotation volcano.sh/overcommit-factor: "-1" is not a number above 0 with at most 3 decimals, such as 1.5; the last good value stays in force`,
	} {
		event := <-events
		assert.Equal(t, []string{"Queue", "q", v1.EventTypeWarning, record.BadPolicyAnnotation, text},
			[]string{event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Type, event.Reason, event.Message})
	}
	run.open(t)
	s.annotate("q", policy.MaxJobsKey, "few")
	f = run.open(t)
	assert.Equal(t, 20, f.policies("q").MaxJobs())
	assert.Contains(t, (<-events).Message, `"few"`, "the same warning is recorded again")

	s.annotate("q", policy.MaxJobsKey, "", "volcano.sh/max-job", "5")
	f = run.open(t)
	assert.Equal(t, 0, f.policies("q").MaxJobs())
	event := <-events
	assert.Equal(t, record.BadPolicyAnnotation, event.Reason)
	assert.Equal(t, `annotation volcano.sh/max-job is unknown and has no effect; did you mean "volcano.sh/max-jobs"?`, event.Message)

	run.builder = &Builder{Variant: run.builder.Variant} // a restart
	f = run.open(t)
	assert.EqualValues(t, 3000, f.policies("q").OvercommitFactor(), "that of the parent")
	assert.Contains(t, (<-events).Message, "; it counts as not set")
}

// TestLimitsOfUncountedResources limits what a namespace has of resources that the plugin does not
// count. Each is a Warning event on the queue, once.
func TestLimitsOfUncountedResources(t *testing.T) {
	const scalars = "annotation volcano.sh/capability.namespace: %q has no effect: capacity-card counts cpu, memory and cards; volcano.sh/card.quota.namespace limits cards"
	const odd = `annotation volcano.sh/capability.namespace: "gpus" has no effect: Volcano does not count it`
	const device = `annotation volcano.sh/capability.namespace: "deviceclass/gpu.example.com" has no effect: devices of resource claims have no limits of namespaces`
	for _, test := range []struct {
		build framework.PluginBuilder
		want  []string
	}{
		{New, []string{fmt.Sprintf(scalars, "deviceclass/gpu.example.com"), fmt.Sprintf(scalars, "gpus"), fmt.Sprintf(scalars, gpuName), fmt.Sprintf(scalars, "pods")}},
		{NewCapacity, []string{device, odd}},
		{NewProportion, []string{device, odd}},
	} {
		t.Run(test.build(nil).Name(), func(t *testing.T) {
			s := newScene().queue("q", "").annotate("q", policy.NamespaceCapabilityKey,
				`{"cpu": 4, "memory": "1Gi", "pods": 3, "nvidia.com/gpu": 2, "gpus": 1, "deviceclass/gpu.example.com": 1}`)
			s.build = test.build
			run := newSequence(t, s)
			client, events := recordedEvents()
			run.client = client
			run.open(t)
			for _, want := range test.want {
				event := <-events
				assert.Equal(t, []string{record.BadPolicyAnnotation, want}, []string{event.Reason, event.Message})
			}
			run.open(t)
			s.annotate("q", policy.NamespaceCapabilityKey, "none")
			run.open(t)
			assert.Contains(t, (<-events).Message, `"none" is not a JSON object`, "the same warning is recorded again")
			var found []string
			for _, p := range inspect.PolicyProblems(test.build(nil).Name(), nil, map[string]string{policy.NamespaceCapabilityKey: `{"cpu": 4, "gpus": 1}`}) {
				found = append(found, p.Reason)
			}
			assert.Len(t, found, 1)
		})
	}
	assert.Empty(t, inspect.PolicyProblems("drf", nil, map[string]string{policy.NamespaceCapabilityKey: `{"gpus": 1}`}), "a plugin of someone else")
}

// TestPoliciesOfADeletedRoot deletes the root. The tree still has one, without policies.
func TestPoliciesOfADeletedRoot(t *testing.T) {
	s := newScene().queue("q", "root").queue("root", "").annotate("root", policy.OvercommitFactorKey, "2")
	run := newSequence(t, s)
	assert.EqualValues(t, 2000, run.open(t).policies("q").OvercommitFactor())
	s.Queues = s.Queues[:1]
	assert.EqualValues(t, 0, run.open(t).policies("q").OvercommitFactor())
}

// TestPoliciesOfANewQueue deletes a queue and creates another one with its name, which has no
// last good value.
func TestPoliciesOfANewQueue(t *testing.T) {
	s := newScene().queue("q", "").queue("p", "").annotate("q", policy.MaxJobsKey, "20")
	run := newSequence(t, s)
	run.open(t)
	all := s.Queues
	s.Queues = s.Queues[1:]
	assert.False(t, run.open(t).own.Intake.HasPolicies())
	s.Queues = all
	s.annotate("q", policy.MaxJobsKey, "x")
	assert.Equal(t, 0, run.open(t).policies("q").MaxJobs())

	s.annotate("q", policy.MaxJobsKey, "20")
	assert.Equal(t, 20, run.open(t).policies("q").MaxJobs())
	s.annotate("q", policy.MaxJobsKey, "x")
	run.edit = func(info *api.ClusterInfo) { info.Queues["q"].Queue.UID = "another" }
	assert.Equal(t, 0, run.open(t).policies("q").MaxJobs(), "between two sessions")
}

// TestPolicyHooksDoNotAllocate asks the hooks of a queue with all policies of admission.
func TestPolicyHooksDoNotAllocate(t *testing.T) {
	s := newScene().node("a", "A", 8).node("b", "B", 8).queue("root", "").queue("team", "root", "quota", `{"A":8,"B":8}`).
		queue("q", "team", "quota", `{"A":8,"B":8}`).pods("next", "q", "A|B", 2, 1, inPhase(workload.Inqueue)).
		pods("later", "q", "A", 1, 1).pods("large", "q", "A", 7, 1, members(7))
	for _, queue := range []string{"team", "q"} {
		s.annotate(queue, policy.MaxJobsKey, "5", policy.OvercommitFactorKey, "1.5", policy.InqueueTimeoutKey, "1h",
			card.NamespaceKey, `{"A":4,"B":4}`, policy.NamespaceCapabilityKey, `{"cpu":"64"}`)
	}
	s.arguments = framework.Arguments{arguments.DisplacePromises: true}
	f := s.open(t)
	task, later, large := f.task("next-0"), f.job("later"), f.job("large")
	placed := *task
	placed.NodeName = "a"
	event := &framework.Event{Task: &placed}
	for name, call := range map[string]func(){
		"Allocatable":             func() { require.True(t, f.own.AllocatableOf(f.queue("q"), task)) },
		"Predicate":               func() { require.NoError(t, f.own.Predicate(task, f.Nodes["b"])) },
		"Allocate and Deallocate": func() { f.own.OnAllocate(event); f.own.onDeallocate(event) },
		"JobEnqueueable":          func() { require.Equal(t, util.Permit, f.own.admit.JobEnqueueable(later)) },
	} {
		call()
		assert.Zero(t, testing.AllocsPerRun(200, call), name)
	}
	require.Equal(t, util.Reject, f.own.admit.JobEnqueueable(large))
	assert.Contains(t, large.JobFitErrors, "card.quota.namespace is <4>")
}
