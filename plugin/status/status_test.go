package status

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kube "k8s.io/client-go/testing"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/client/clientset/versioned/fake"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/inspect"
)

var (
	early = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	late  = metav1.NewTime(early.Add(time.Hour))
)

// accounts are a team below the root that borrows two cards, and cpu without a bound.
var accounts = []inspect.Account{
	{Queue: "root"},
	{Queue: "team", Parent: "root", Holdings: []inspect.Holding{
		{Resource: "cpu", Allocated: 2, Deserved: math.Inf(1), Capability: math.Inf(1)},
		{Resource: "A", Card: true, Allocated: 6, Inqueue: 1, Deserved: 4, Capability: 8},
		{Resource: "B", Card: true, Capability: math.Inf(1)},
	}},
}

func job(queue string, created metav1.Time, phase scheduling.PodGroupPhase, pending int) *api.JobInfo {
	j := &api.JobInfo{Queue: api.QueueID(queue), CreationTimestamp: created, MinAvailable: 1, PodGroup: &api.PodGroup{}}
	j.PodGroup.Status.Phase = phase
	if pending > 0 {
		j.TaskStatusIndex = map[api.TaskStatus]api.TasksMap{api.Pending: {"pod": {}}}
	}
	return j
}

// TestTexts has two jobs that wait, one of them with a pod, and jobs that do not.
func TestTexts(t *testing.T) {
	jobs := map[api.JobID]*api.JobInfo{
		"not admitted": job("team", late, scheduling.PodGroupPending, 0),
		"with a pod":   job("team", early, scheduling.PodGroupRunning, 1),
		"running":      job("team", early, scheduling.PodGroupRunning, 0),
		"ended":        job("team", early, scheduling.PodGroupCompleted, 1),
		"of nobody":    job("gone", early, scheduling.PodGroupPending, 0),
		"no PodGroup":  {Queue: "team"},
	}
	all := texts(accounts, jobs)
	assert.JSONEq(t, `{"version": "v1", "waitingJobs": 2, "waitingSince": "2026-01-01T00:00:00Z", "resources": []}`, all["root"])
	assert.JSONEq(t, `{"version": "v1", "waitingJobs": 2, "waitingSince": "2026-01-01T00:00:00Z", "resources": [
		{"resource": "A", "card": true, "deserved": 4, "guarantee": 0, "allocated": 6, "inqueue": 1, "borrowed": 2, "capability": 8}]}`,
		all["team"])
	assert.JSONEq(t, `{"version": "v1", "waitingJobs": 0, "resources": []}`, texts(accounts, nil)["root"])
}

// TestDue is due once in the interval, and again when the interval or the clock is set back.
func TestDue(t *testing.T) {
	var w Writer
	now := early.Time
	assert.True(t, w.Due(now, time.Hour))
	assert.False(t, w.Due(now.Add(59*time.Minute), time.Hour))
	assert.True(t, w.Due(now.Add(time.Hour), time.Hour))
	assert.True(t, w.Due(now.Add(time.Hour), time.Minute), "the interval is shorter")
	assert.True(t, w.Due(now, time.Minute), "the clock is set back")
}

// fixture is a client that answers each patch with an error, nil for none.
func fixture(answer func(name string) error) (client *fake.Clientset, patched map[string]string) {
	client = fake.NewSimpleClientset()
	patched = map[string]string{}
	client.PrependReactor("patch", "queues", func(action kube.Action) (bool, runtime.Object, error) {
		patch := action.(kube.PatchAction)
		if patch.GetPatchType() != types.ApplyPatchType {
			return true, nil, errors.New("no server-side apply")
		}
		err := answer(patch.GetName())
		if err == nil {
			patched[patch.GetName()] = string(patch.GetPatch())
		}
		return true, nil, err
	})
	return client, patched
}

func queue(name string, uid types.UID) *api.QueueInfo {
	object := &scheduling.Queue{}
	object.Name = name
	object.UID = uid
	return &api.QueueInfo{Name: name, Queue: object}
}

// TestWriter writes the queues that have changed, by their UIDs, and no others.
func TestWriter(t *testing.T) {
	client, patched := fixture(func(string) error { return nil })
	team := queue("team", "7")
	queues := []*api.QueueInfo{nil, {Name: "root"}, team, queue("of a file", ""), queue("unknown", "8")}

	var w Writer
	w.Offer(client, queues, accounts, nil)
	w.Wait()
	require.Len(t, patched, 1, "the others have no object, no UID or no account")
	assert.Contains(t, patched["team"], `"uid":"7"`)
	assert.Contains(t, patched["team"], `\"allocated\":6`)

	clear(patched)
	team.Queue.Annotations = map[string]string{"volcano.sh/card.status": texts(accounts, nil)["team"]}
	w.Offer(client, queues, accounts, nil)
	w.Wait()
	assert.Empty(t, patched, "nothing has changed")
	w.Offer(nil, queues, accounts, nil)
	w.Wait()
	assert.Empty(t, w.Problems())
}

// TestWriterFails has a queue that is gone, another one of the same name, one that a policy refuses, and a missing right.
func TestWriterFails(t *testing.T) {
	resource := schema.GroupResource{Group: "scheduling.volcano.sh", Resource: "queues"}
	client, patched := fixture(func(name string) error {
		switch name {
		case "a":
			return apierrors.NewNotFound(resource, name)
		case "b":
			return apierrors.NewConflict(resource, name, errors.New("UID"))
		case "refused":
			return apierrors.NewInvalid(schema.GroupKind{Group: resource.Group, Kind: "Queue"}, name, nil)
		case "d":
			return apierrors.NewForbidden(resource, name, errors.New("no right to patch"))
		}
		return nil
	})
	var queues []*api.QueueInfo
	var all []inspect.Account
	for _, name := range []string{"a", "b", "refused", "c", "d", "e"} {
		queues = append(queues, queue(name, "7"))
		all = append(all, inspect.Account{Queue: name})
	}

	var w Writer
	w.Offer(client, queues, all, nil)
	w.Wait()
	assert.Len(t, patched, 1, "c is written, and e waits for the next time")
	problems := w.Problems()
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "argument cardStatus: annotation volcano.sh/card.status of queue refused cannot be written: ")

	w.Offer(client, queues[3:], all[3:], nil)
	w.Wait()
	problems = w.Problems()
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "queue d cannot be written: ")
	assert.Contains(t, problems[0], "no right to patch")
	assert.Empty(t, w.Problems(), "once")
}
