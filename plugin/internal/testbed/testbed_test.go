package testbed_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// jobOf returns a job with annotations of its PodGroup and of each of its pods.
func jobOf(group map[string]string, pods ...map[string]string) *api.JobInfo {
	job := &api.JobInfo{Namespace: "ns", PodGroup: &api.PodGroup{}, Tasks: api.TasksMap{}}
	job.PodGroup.Annotations = group
	for i, annotations := range pods {
		pod := &v1.Pod{}
		pod.Annotations = annotations
		job.Tasks[api.TaskID(rune('a'+i))] = &api.TaskInfo{Pod: pod}
	}
	return job
}

// TestHoldersOf reads the holders for which a job counts: the PodGroup goes before the pods.
func TestHoldersOf(t *testing.T) {
	user := func(name string) map[string]string { return map[string]string{"volcano.sh/user": name} }
	holders := func(user string, groups ...string) []oracle.Holder {
		all := []oracle.Holder{{Key: "namespace", Value: "ns"}, {Key: "user", Value: user}}
		for _, group := range groups {
			all = append(all, oracle.Holder{Key: "group", Value: group})
		}
		return append(all, oracle.Holder{Key: "label:team"})
	}
	groups := map[string]string{"volcano.sh/groups": " g2, g1,g2, "}

	assert.Equal(t, holders("", ""), testbed.HoldersOf(jobOf(nil)))
	assert.Equal(t, holders("ann", ""), testbed.HoldersOf(jobOf(user("ann"), user("bob"))))
	assert.Equal(t, holders("bob", ""), testbed.HoldersOf(jobOf(nil, user("cid"), nil, user("bob"))))
	assert.Equal(t, holders("", "g2", "g1"), testbed.HoldersOf(jobOf(groups)))
}

// TestPinned keeps the arguments that a test names.
func TestPinned(t *testing.T) {
	assert.Equal(t, framework.Arguments{arguments.Semantics: release.V1141}, testbed.Pinned(arguments.Capacity, nil))
	named := framework.Arguments{arguments.Semantics: "v1.15", arguments.UnsetCapability: "unlimited"}
	want := framework.Arguments{arguments.Semantics: release.V115, arguments.UnsetCapability: "unlimited"}
	assert.Equal(t, want, testbed.Pinned(arguments.Proportion, named))
	want[arguments.CardUnlimitedCPUMemory] = false
	assert.Equal(t, want, testbed.Pinned(arguments.CapacityCard, named))
}

// TestByName leaves out zeros and unlimited bounds.
func TestByName(t *testing.T) {
	var names index.Names
	d := names.InternCard("A")
	x := fastres.NewVector(names.Len() + 2)
	x.Set(d, 2000)
	x.Set(fastres.CPU, 0)
	x.Set(fastres.Memory, fastres.MaxQuantity)
	assert.Equal(t, map[string]float64{"trueA": 2000}, testbed.ByName(&names, x))
}
