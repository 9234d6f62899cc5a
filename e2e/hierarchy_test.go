package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// hierarchy is the directory of the manifests of a tree of queues, relative to the manifests of cards.
const hierarchy = "../hierarchy/"

// workers submits a job like the job of the example, with pods without devices.
func (c *cluster) workers(t *testing.T, name, queue string, cpu int64, pods, minimum int32) {
	t.Helper()
	job := example[*batch.Job](t, hierarchy+"team.yaml")
	job.Name, job.Spec.Queue, job.Spec.MinAvailable, job.Spec.Tasks[0].Replicas = name, queue, minimum, pods
	requests := job.Spec.Tasks[0].Template.Spec.Containers[0].Resources.Requests
	requests[corev1.ResourceCPU] = *resource.NewQuantity(cpu, resource.DecimalSI)
	c.create(t, job)
}

// TestHierarchy has two departments of two teams share a cluster. A team borrows idle resources, and gives them back
// when the others need them. Jobs go to teams, not to departments. Both plugin names behave the same.
func TestHierarchy(t *testing.T) {
	configuration := example[*corev1.ConfigMap](t, hierarchy+"scheduler.conf.yaml").Data["volcano-scheduler.conf"]
	t.Run("capacity", func(t *testing.T) {
		c := plane(t, hierarchy+"nodes.yaml")
		c.schedule(t, configuration)
		lend(t, c, "")
	})
	t.Run("capacity-card", func(t *testing.T) {
		c := plane(t, hierarchy+"nodes.yaml")
		named := "name: capacity-card\n    arguments: {untypedCards: ignore}"
		c.schedule(t, strings.Replace(configuration, "name: capacity", named, 1))
		lend(t, c, "-cc")
	})
}

// lend uses the jobs of the examples, and adds a suffix to their names. Now and then, Volcano's job controller loses a
// job that takes the name of a job just deleted.
func lend(t *testing.T, c *cluster, suffix string) {
	submit := func(file string) string {
		job := example[*batch.Job](t, hierarchy+file)
		job.Name += suffix
		c.create(t, job)
		return job.Name
	}
	campaign, reports, release := "campaign"+suffix, "reports"+suffix, "release"+suffix
	c.apply(t, hierarchy+"queues.yaml")

	// The other department is at work, and dev borrows from prod.
	c.workers(t, campaign, "marketing", 4, 15, 1)
	c.workers(t, reports, "sales", 4, 5, 1)
	c.runs(t, campaign, map[string]int{"": 15}, 0)
	c.runs(t, reports, map[string]int{"": 5}, 0)
	dev := submit("team.yaml")
	c.runs(t, dev, map[string]int{"": 15}, 0)

	// prod takes back from dev the CPUs that it deserves, and no more.
	c.workers(t, release, "prod", 4, 24, 24)
	c.runs(t, release, map[string]int{"": 24}, 0)
	c.runs(t, dev, map[string]int{"": 6}, 9)
	c.runs(t, campaign, map[string]int{"": 15}, 0)
	c.runs(t, reports, map[string]int{"": 5}, 0)

	// prod is never reclaimed from, and has a bound.
	c.workers(t, "more"+suffix, "prod", 8, 1, 1)
	c.refusedFor(t, "more"+suffix, insufficient("prod", "cpu", 8, 104, 100))
	c.complete(t, release, 24)
	c.runs(t, dev, map[string]int{"": 15}, 0)

	c.runs(t, submit("job.yaml"), map[string]int{"": 4}, 0)
	c.workers(t, "misplaced"+suffix, "eng", 1, 1, 1)
	c.refusedFor(t, "misplaced"+suffix, "Queue <eng> has child queues and takes no jobs itself")
}

// refusedFor waits until a job is kept out of its queue for a reason with these words in it.
func (c *cluster) refusedFor(t *testing.T, job, words string) {
	t.Helper()
	c.until(t, func() string {
		group := c.group(job)
		if group == nil || group.Status.Phase != scheduling.PodGroupPending {
			return fmt.Sprintf("the pod group of %s should be there and Pending", job)
		}
		for _, event := range c.events(group.UID) {
			if event.Type == corev1.EventTypeWarning && strings.Contains(event.Message, words) {
				return ""
			}
		}
		return fmt.Sprintf("the pod group of %s has no event with %q", job, words)
	})
	require.Empty(t, c.pods(job))
}

// TestFenceOfDepartment has a fence around a department (docs/spec/policies.md). Its teams reclaim from one another as
// before. Nobody outside takes from them until the fence is gone, and they take from nobody outside. The pods leave
// some CPUs of each node idle, too few for another one.
func TestFenceOfDepartment(t *testing.T) {
	const fence = "volcano.sh/reclaim-fence"
	c := plane(t, hierarchy+"nodes.yaml")
	c.schedule(t, example[*corev1.ConfigMap](t, hierarchy+"scheduler.conf.yaml").Data["volcano-scheduler.conf"])
	fenced := func(t *testing.T) {
		t.Cleanup(func() { c.clear(t) })
		for _, q := range []struct{ name, parent, deserved string }{
			{"eng", "root", "120"}, {"prod", "eng", "96"}, {"dev", "eng", "24"}, {"biz", "root", "80"}, {"marketing", "biz", "60"},
		} {
			queue := &scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: q.name}, Spec: scheduling.QueueSpec{Parent: q.parent, Weight: 1}}
			queue.Spec.Deserved = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(q.deserved)}
			c.create(t, queue)
		}
		c.annotate(t, "eng", fence, "true")
	}
	// waits has a job of one pod wait for a job across the fence, until the fence is gone. Until then, so many pods of
	// the other job run and wait.
	waits := func(t *testing.T, job, queue, other string, running, waiting int) {
		c.workers(t, job, queue, 6, 1, 1)
		c.cycles(t, 6)
		c.runs(t, job, map[string]int{}, 1)
		c.runs(t, other, map[string]int{"": running}, waiting)
		c.annotate(t, "eng", fence, "false")
		c.runs(t, job, map[string]int{"": 1}, 0)
		c.runs(t, other, map[string]int{"": running - 1}, waiting+1)
	}
	t.Run("from outside", func(t *testing.T) {
		fenced(t)
		c.workers(t, "base", "prod", 6, 10, 10)
		c.runs(t, "base", map[string]int{"": 10}, 0)
		c.workers(t, "borrower", "dev", 6, 40, 1)
		c.runs(t, "borrower", map[string]int{"": 22}, 18)
		c.workers(t, "sibling", "prod", 6, 1, 1)
		c.runs(t, "sibling", map[string]int{"": 1}, 0)
		c.runs(t, "borrower", map[string]int{"": 21}, 19)
		waits(t, "stranger", "marketing", "borrower", 21, 19)
	})
	t.Run("from below", func(t *testing.T) {
		fenced(t)
		c.workers(t, "prod-own", "prod", 6, 7, 7)
		c.workers(t, "dev-own", "dev", 6, 4, 4)
		c.runs(t, "prod-own", map[string]int{"": 7}, 0)
		c.runs(t, "dev-own", map[string]int{"": 4}, 0)
		c.workers(t, "outside", "marketing", 6, 35, 1)
		c.runs(t, "outside", map[string]int{"": 21}, 14)
		waits(t, "prod-more", "prod", "outside", 21, 14)
	})
}
