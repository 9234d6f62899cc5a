package hints

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
)

// remembering returns the memory of three jobs. Queue a refuses a/leaf, below it; a rule that compares all queues
// refuses b/wide, and the state of its queue refuses b/closed.
func remembering() *Memory {
	return &Memory{
		refused: map[api.JobID]refusal{"ns/leaf": {queues: []string{"a"}}, "ns/wide": {anywhere: true}, "ns/closed": {}},
		queues:  map[api.JobID]string{"ns/leaf": "a1", "ns/wide": "b", "ns/closed": "b", "ns/sibling": "a2", "ns/far": "b", "ns/lost": "gone"},
		tree:    index.BuildTree([]index.Node{{Name: "a"}, {Name: "a1", Parent: "a"}, {Name: "a2", Parent: "a"}, {Name: "b"}}, index.RootName),
	}
}

func podOf(job string, change func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: job + "-0", Annotations: map[string]string{v1beta1.KubeGroupNameAnnotationKey: job}},
		Spec:   v1.PodSpec{NodeName: "n", Containers: []v1.Container{{Name: "c"}}},
		Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{Name: "c"}}}}
	if change != nil {
		change(pod)
	}
	return pod
}

func group(job, queue string, change func(*api.PodGroup)) *api.PodGroup {
	g := &api.PodGroup{PodGroup: scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: job}, Spec: scheduling.PodGroupSpec{Queue: queue},
		Status: scheduling.PodGroupStatus{Phase: scheduling.PodGroupInqueue}}}
	if change != nil {
		change(g)
	}
	return g
}

func queueOf(change func(*scheduling.Queue)) *scheduling.Queue {
	q := &scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Status: scheduling.QueueStatus{State: scheduling.QueueStateOpen}}
	if change != nil {
		change(q)
	}
	return q
}

// TestWakes tells three refused jobs, and one that is not known, of changes.
func TestWakes(t *testing.T) {
	const leaf, wide, closed = "ns/leaf", "ns/wide", "ns/closed"
	all, none := []api.JobID{leaf, wide, closed}, []api.JobID(nil)
	less := func(pod *v1.Pod) {
		pod.Status.ContainerStatuses[0].Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}
	}
	for name, test := range map[string]struct {
		old, now any
		want     []api.JobID
	}{
		"a node is new":                                 {nil, &v1.Node{}, all},
		"a node changes":                                {&v1.Node{}, &v1.Node{}, all},
		"a node is gone":                                {&v1.Node{}, nil, all},
		"an object of another kind changes":             {&v1.Service{}, &v1.Service{}, all},
		"a queue is new":                                {nil, queueOf(nil), all},
		"a queue is gone, in the version of the API":    {&v1beta1.Queue{}, nil, all},
		"the queue controller counts":                   {queueOf(nil), queueOf(func(q *scheduling.Queue) { q.Status.Pending = 1 }), none},
		"a queue is closed":                             {queueOf(nil), queueOf(func(q *scheduling.Queue) { q.Status.State = scheduling.QueueStateClosed }), all},
		"a quota changes":                               {queueOf(nil), queueOf(func(q *scheduling.Queue) { q.Annotations = map[string]string{"k": "v"} }), all},
		"a spec changes":                                {queueOf(nil), queueOf(func(q *scheduling.Queue) { q.Spec.Weight = 2 }), all},
		"another queue has the name":                    {queueOf(nil), queueOf(func(q *scheduling.Queue) { q.UID = "new" }), all},
		"a pod below a ends":                            {podOf("sibling", nil), nil, []api.JobID{leaf, wide}},
		"a pod elsewhere ends":                          {podOf("far", nil), nil, []api.JobID{wide}},
		"a pod of a job that no session knows ends":     {podOf("new", nil), nil, []api.JobID{leaf, wide}},
		"a pod of a queue that is gone ends":            {podOf("lost", nil), nil, []api.JobID{leaf, wide}},
		"a pod of the job itself is gone":               {podOf("closed", nil), nil, []api.JobID{wide, closed}},
		"a pod below a is new":                          {nil, podOf("sibling", nil), []api.JobID{leaf, wide}},
		"a pod below a is ready":                        {podOf("sibling", nil), podOf("sibling", func(p *v1.Pod) { p.Status.ContainerStatuses[0].Ready = true }), none},
		"a pod below a is deleted":                      {podOf("sibling", nil), podOf("sibling", func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time} }), []api.JobID{leaf, wide}},
		"a pod below a is resized":                      {podOf("sibling", nil), podOf("sibling", less), []api.JobID{leaf, wide}},
		"a pod below a gets a node":                     {podOf("sibling", func(p *v1.Pod) { p.Spec.NodeName = "" }), podOf("sibling", nil), []api.JobID{leaf, wide}},
		"a pod moves from a job below a to one of b":    {podOf("sibling", nil), podOf("far", nil), []api.JobID{leaf, wide}},
		"a pod below a names another card":              {podOf("sibling", nil), podOf("sibling", func(p *v1.Pod) { p.Annotations["card"] = "A" }), []api.JobID{leaf, wide}},
		"a PodGroup below a waits":                      {nil, group("new", "a2", func(g *api.PodGroup) { g.Status.Phase = scheduling.PodGroupPending }), none},
		"a PodGroup below a is Inqueue":                 {nil, group("new", "a2", nil), []api.JobID{leaf, wide}},
		"a PodGroup below a has another condition":      {group("sibling", "a2", nil), group("sibling", "a2", func(g *api.PodGroup) { g.Status.Running = 1 }), none},
		"a PodGroup below a ends":                       {group("sibling", "a2", nil), group("sibling", "a2", func(g *api.PodGroup) { g.Status.Phase = scheduling.PodGroupCompleted }), []api.JobID{leaf, wide}},
		"a PodGroup moves from below a to b":            {group("sibling", "a2", nil), group("sibling", "b", nil), []api.JobID{leaf, wide}},
		"a PodGroup elsewhere ends":                     {group("far", "b", nil), nil, []api.JobID{wide}},
		"a PodGroup of an unknown queue ends":           {group("far", "", nil), nil, []api.JobID{leaf, wide}},
		"the PodGroup of the job itself is another one": {group("closed", "b", nil), group("closed", "b", func(g *api.PodGroup) { g.UID = "new" }), []api.JobID{wide, closed}},
	} {
		t.Run(name, func(t *testing.T) {
			m := remembering()
			var woken []api.JobID
			for _, id := range all {
				if m.Wakes(&api.JobInfo{UID: id}, test.old, test.now) {
					woken = append(woken, id)
				}
			}
			assert.Equal(t, test.want, woken)
			assert.True(t, m.Wakes(&api.JobInfo{UID: "ns/unknown"}, test.old, test.now))
		})
	}
	m := remembering()
	m.together = true
	assert.True(t, m.Wakes(&api.JobInfo{UID: wide}, nil, group("new", "a2", func(g *api.PodGroup) { g.Status.Phase = scheduling.PodGroupPending })),
		"the requests of all queues count")
}
