package whatif

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"
	schedulerconf "volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

var worlds = flag.Int("worlds", 40, "how many random worlds TestExplanationsAreTrue explains")

// scheduler is a scheduler with a memory, on a cluster where evicted pods terminate for one cycle.
type scheduler struct {
	world   *engine.World
	evicted []string
	placed  map[string]int // pods by group
	made    int
}

// watch runs some cycles on a copy of a world.
func watch(t *testing.T, w *engine.World, c *engine.Configuration, cycles int) *scheduler {
	t.Helper()
	engine.Quiet()
	s := &scheduler{world: w.Clone(), placed: map[string]int{}}
	require.NoError(t, engine.Alone(t.Context(), func() error {
		plugin.RegisterAt(time.Now) // with a memory of its own
		for range cycles {
			s.cycle(c)
		}
		return nil
	}))
	return s
}

// cycle runs one session of Volcano, and acts as the kubelet and the controllers after it.
func (s *scheduler) cycle(c *engine.Configuration) {
	schedulerconf.EnabledActionMap = map[string]bool{}
	info := offline.NewInfo()
	for _, node := range s.world.Nodes {
		offline.AddNode(info, node)
	}
	for _, queue := range s.world.Queues {
		info.Queues[api.QueueID(queue.Name)] = api.NewQueueInfo(queue)
	}
	for _, g := range s.world.Groups {
		offline.AddJob(info, g.ID(), g.PodGroup, 0, g.Pods)
	}

	cache := offline.NewCache(info)
	cache.Informers = offline.NoInformers()
	cache.SetDevices(s.world.Devices)
	session := framework.OpenSession(cache, c.Tiers, c.Configurations)
	for _, action := range c.Actions {
		schedulerconf.EnabledActionMap[action.Name()] = true
		action.Execute(session)
	}
	jobs := session.Jobs
	framework.CloseSession(session)

	for _, g := range s.world.Groups {
		job := jobs[g.ID()]
		g.Status.Phase = job.PodGroup.Status.Phase
		for i, pod := range g.Pods {
			g.Pods[i] = s.follow(g, pod, job.Tasks[api.TaskID(pod.UID)])
		}
	}
}

// follow returns a pod after a session.
func (s *scheduler) follow(g *engine.Group, pod *v1.Pod, task *api.TaskInfo) *v1.Pod {
	next := pod.DeepCopy()
	switch decided := offline.Decided(pod, task); {
	case pod.DeletionTimestamp != nil:
		s.made++
		next.UID = types.UID(fmt.Sprintf("%s-again-%d", pod.Name, s.made))
		next.DeletionTimestamp = nil
		next.Spec.NodeName = ""
		next.Status = v1.PodStatus{Phase: v1.PodPending}
	case decided == offline.Placed:
		s.placed[string(g.ID())]++
		next.Spec.NodeName = task.NodeName
		next.Status.Phase = v1.PodRunning
	case decided == offline.Evicted:
		s.evicted = append(s.evicted, pod.Name)
		s.placed[string(g.ID())]--
		now := metav1.Now()
		next.DeletionTimestamp = &now
	}
	return next
}

// randomWorld draws some queues that lend cards of one or two models, jobs that have all of them, and jobs that wait.
func randomWorld(t *testing.T, seed uint64) (*engine.World, *engine.Configuration) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	pick := func(values ...string) string { return values[r.IntN(len(values))] }
	models := []string{"A", "B"}[:1+r.IntN(2)]
	var manifests []string
	add := func(format string, arguments ...any) {
		manifests = append(manifests, fmt.Sprintf(format, arguments...))
	}

	type place struct{ node, model string }
	var free []place
	for n := range 1 + r.IntN(3) {
		model := models[r.IntN(len(models))]
		cards := 2 + r.IntN(5)
		add("apiVersion: v1\nkind: Node\nmetadata: {name: n%d, labels: {kubernetes.io/hostname: n%[1]d, nvidia.com/gpu.product: %s}}\n"+
			"status: {allocatable: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: %d}}", n, model, cards)
		for range cards {
			free = append(free, place{fmt.Sprintf("n%d", n), model})
		}
	}

	queues := 2 + r.IntN(3)
	for q := range queues {
		policy := pick("", "", "", "", ", volcano.sh/eviction-budget: lose=2/1h", ", volcano.sh/reclaim-fence: \"true\"",
			", volcano.sh/eviction-budget: lose=4/1h", ", volcano.sh/min-runtime: reclaim=1h")
		amounts := func(least, most int) string {
			var all []string
			for _, m := range models {
				all = append(all, fmt.Sprintf(`"%s": %d`, m, least+r.IntN(most-least)))
			}
			return "'{" + strings.Join(all, ", ") + "}'"
		}
		guarantee := amounts(0, 1)
		if r.IntN(4) == 0 {
			guarantee = amounts(0, 3)
		}
		deserved := amounts(0, 4)
		if q == 0 { // most jobs wait here
			deserved = amounts(2, 7)
		}
		add("apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata:\n  name: q%d\n  annotations: {volcano.sh/card.quota: '{\"A\": 12, \"B\": 12}', "+
			"volcano.sh/card.deserved: %s, volcano.sh/card.guarantee: %s%s}\nspec: {weight: 1, reclaimable: %s}",
			q, deserved, guarantee, policy, pick("true", "true", "true", "false"))
	}

	job := func(name string, q, n, minimum int, node, model string) {
		phase := pick("Inqueue", "Pending")
		if node != "" {
			phase = "Running"
		}
		add("apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: %s, namespace: default}\n"+
			"spec: {queue: q%d, minMember: %d, minResources: {nvidia.com/gpu: %[3]d}}\nstatus: {phase: %s}", name, q, minimum, phase)
		for i := range n {
			at, status := "", "Pending"
			if node != "" {
				at, status = "nodeName: "+node+", ", "Running"
			}
			add("apiVersion: v1\nkind: Pod\nmetadata: {name: %s-%d, namespace: default, annotations: {volcano.sh/card.name: %s, scheduling.k8s.io/group-name: %s}}\n"+
				"spec: {schedulerName: volcano, %scontainers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}\nstatus: {phase: %s, startTime: \"2026-01-01T00:00:00Z\"}",
				name, i, model, name, at, status)
		}
	}
	for i := 0; len(free) > 0; i++ {
		n := 1
		for n < len(free) && n < 5 && free[n].node == free[0].node && r.IntN(4) > 0 {
			n++
		}
		if r.IntN(8) > 0 { // otherwise the cards stay free
			job(fmt.Sprintf("runs%d", i), queues-1-r.IntN(queues)*r.IntN(2), n, 1+r.IntN(n), free[0].node, free[0].model)
		}
		free = free[n:]
	}
	for i := range 1 + r.IntN(3) {
		n := 1 + r.IntN(4)
		job(fmt.Sprintf("waits%d", i), r.IntN(queues)*r.IntN(2), n, n, "", models[r.IntN(len(models))])
	}

	objects := input.Parse("world", []byte(strings.Join(manifests, "\n---\n")))
	require.Empty(t, objects.Problems)
	text := "actions: \"enqueue, allocate, reclaim\"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n  - name: capacity-card\n" +
		"    arguments: {unsetCapability: unlimited, reclaimGangs: " + pick("keep", "whole") + "}\n  - name: predicates\n"
	configuration, err := engine.Configure(text)
	require.NoError(t, err)
	world, err := engine.Build(objects)
	require.NoError(t, err)
	return world, configuration
}

// TestExplanationsAreTrue compares explanations of random worlds with the next cycles of a scheduler: which pods are
// evicted, which jobs start, and that no pod is evicted for the others. Changes that were tried help.
func TestExplanationsAreTrue(t *testing.T) {
	said := map[string]int{}
	for seed := range uint64(*worlds) {
		world, configuration := randomWorld(t, seed)
		before := world.Clone()
		after := watch(t, before, configuration, 12)
		findings, err := Explain(t.Context(), world, configuration, explain.Options{})
		require.NoError(t, err)

		var takes, loses []string
		for _, f := range findings {
			for _, v := range f.Evicts {
				takes = append(takes, v.Pods...)
			}
			for _, r := range f.Reclaimers {
				loses = append(loses, r.Pods...)
			}

			needs := max(1, f.Pods.Minimum-f.Pods.Placed)
			placed := after.placed[f.Namespace+"/"+f.Name]
			switch {
			case len(f.Evicts) > 0:
				said["evicts"]++
				assert.GreaterOrEqual(t, placed, needs, "seed %d: %s starts: %v", seed, f.Name, f.Evicts)
			case f.Untaken != "":
				said["nothing is evicted"]++
				assert.Less(t, placed, needs, "seed %d: %s does not start: %q", seed, f.Name, f.Advice)
			}
			if f.Remedy != "" {
				said["tried"]++
				assertHelps(t, before, configuration, &f, seed)
			}
		}
		// The explanations do not tell the evictions of pods that get their node only in these cycles.
		after.evicted = slices.DeleteFunc(after.evicted, func(pod string) bool { return !running(before, pod) })
		takes = slices.DeleteFunc(takes, func(pod string) bool { return !running(before, pod) })
		slices.Sort(takes)
		slices.Sort(loses)
		slices.Sort(after.evicted)
		assert.Equal(t, after.evicted, takes, "seed %d: evicted for others", seed)
		assert.Equal(t, after.evicted, loses, "seed %d: lost to others", seed)
	}
	t.Log(said)
	for _, what := range []string{"evicts", "nothing is evicted", "tried"} {
		assert.Greater(t, said[what], *worlds/20, what)
	}
}

// running reports whether a pod of a world has a node.
func running(w *engine.World, name string) bool {
	return slices.ContainsFunc(w.Groups, func(g *engine.Group) bool {
		return slices.ContainsFunc(g.Pods, func(pod *v1.Pod) bool { return pod.Name == name && pod.Spec.NodeName != "" })
	})
}

// assertHelps asserts that a job starts with the change that its explanation names.
func assertHelps(t *testing.T, w *engine.World, c *engine.Configuration, f *explain.Finding, seed uint64) {
	t.Helper()
	for _, r := range remedies(w, f) {
		if strings.Contains(f.Remedy, "with "+r.what+", it starts") && !strings.HasPrefix(r.what, "time until") {
			changed := w.Clone()
			then := *c
			require.NoError(t, r.apply(changed, &then))
			needs := max(1, f.Pods.Minimum-f.Pods.Placed)
			placed := watch(t, changed, &then, 12).placed[f.Namespace+"/"+f.Name]
			assert.GreaterOrEqual(t, placed, needs, "seed %d: %s: %s", seed, f.Name, f.Remedy)
			return
		}
	}
}
