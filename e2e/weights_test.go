package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// weights is the directory of the manifests of queues with weights, relative to the manifests of cards.
const weights = "../weights/"

// cpus is the line of the metrics that says how many CPUs a queue deserves.
func cpus(queue string, n int) string {
	return fmt.Sprintf(`volcano_queue_deserved_milli_cpu{queue_name="%s"} %d`, queue, n*1000)
}

func gpus(queue string, n int) string {
	return fmt.Sprintf(`volcano_queue_deserved_scalar_resources{queue_name="%s",resource="nvidia.com/gpu"} %d`, queue, n*1000)
}

// scheduleByWeight starts a scheduler with the configuration of the examples, under either name.
func (c *cluster) scheduleByWeight(t *testing.T, name string) {
	t.Helper()
	configuration := example[*corev1.ConfigMap](t, weights+"scheduler.conf.yaml").Data["volcano-scheduler.conf"]
	if name == "capacity-card" {
		configuration = strings.Replace(configuration, "name: capacity", "name: capacity-card", 1)
		configuration = strings.Replace(configuration, "arguments:\n", "arguments:\n      untypedCards: ignore\n", 1)
	}
	c.schedule(t, configuration)
}

// TestPlatform has an AI platform, a data team and infrastructure share a cluster. The data team borrows idle resources
// of the others, and gives them back when an owner needs them. Guaranteed resources are kept.
func TestPlatform(t *testing.T) {
	for _, name := range []string{"capacity", "capacity-card"} {
		t.Run(name, func(t *testing.T) {
			c := plane(t, weights+"platform-nodes.yaml")
			c.scheduleByWeight(t, name)
			c.apply(t, weights+"platform.yaml")
			c.measures(t, cpus("ai-training", 150), cpus("ai-inference", 100), cpus("batch-etl", 105), cpus("streaming", 45),
				cpus("ci-cd", 50), cpus("monitoring", 50), cpus("default", 0))
			etl, training, builds, serving := "etl-"+name, "training-"+name, "builds-"+name, "serving-"+name
			if name == "capacity" {
				c.measures(t, gpus("ai-training", 32), gpus("ai-inference", 16))
				c.devices(t, "greedy", "batch-etl", 17)
				c.refusedFor(t, "greedy", insufficient("batch-etl", "nvidia.com/gpu", 17, 17, 16))
			}

			// batch-etl has 320 CPUs and deserves 105. Other queues have guarantees of 150.
			c.workers(t, etl, "batch-etl", 8, 40, 1)
			c.runs(t, etl, map[string]int{"": 40}, 0)
			// Training fits into the idle CPUs. The other queues take back the CPUs that they deserve.
			c.workers(t, training, "ai-training", 8, 18, 18)
			c.runs(t, training, map[string]int{"": 18}, 0)
			c.workers(t, builds, "ci-cd", 8, 6, 6)
			c.runs(t, builds, map[string]int{"": 6}, 0)
			c.runs(t, etl, map[string]int{"": 36}, 4)
			c.workers(t, serving, "ai-inference", 10, 10, 10)
			c.runs(t, serving, map[string]int{"": 10}, 0)
			c.runs(t, training, map[string]int{"": 18}, 0)
			c.runs(t, builds, map[string]int{"": 6}, 0)
		})
	}
}

// devices submits a job of one pod with so many GPUs.
func (c *cluster) devices(t *testing.T, name, queue string, n int64) {
	t.Helper()
	job := example[*batch.Job](t, hierarchy+"team.yaml")
	job.Name, job.Spec.Queue, job.Spec.MinAvailable, job.Spec.Tasks[0].Replicas = name, queue, 1, 1
	resources := &job.Spec.Tasks[0].Template.Spec.Containers[0].Resources
	resources.Requests["nvidia.com/gpu"] = *resource.NewQuantity(n, resource.DecimalSI)
	resources.Limits = corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(n, resource.DecimalSI)}
	c.create(t, job)
}

// TestDepartments has two departments share a cluster, and changes a weight while they do. Then it adds a queue with
// wrong annotations.
func TestDepartments(t *testing.T) {
	c := plane(t, weights+"departments-nodes.yaml")
	c.scheduleByWeight(t, "capacity")
	c.apply(t, weights+"departments.yaml")
	c.measures(t, cpus("rd-prod", 40), cpus("rd-staging", 10), cpus("qa-func", 15), cpus("qa-perf", 15))

	// 40 CPUs are guaranteed to rd-prod. Of the other CPUs, qa-func has 25 more than its 15, until qa-perf comes. The
	// nodes are full by then: the reclaim action of Volcano v1.15 evicts nothing where only a quota is short.
	c.workers(t, "functional", "qa-func", 5, 10, 1)
	c.runs(t, "functional", map[string]int{"": 8}, 2)
	c.workers(t, "release-rd", "rd-prod", 5, 8, 8)
	c.runs(t, "release-rd", map[string]int{"": 8}, 0)
	c.runs(t, "functional", map[string]int{"": 8}, 2)
	c.workers(t, "performance", "qa-perf", 5, 3, 3)
	c.runs(t, "performance", map[string]int{"": 3}, 0)
	c.runs(t, "functional", map[string]int{"": 5}, 5)
	c.runs(t, "release-rd", map[string]int{"": 8}, 0)

	c.annotate(t, "qa-perf", "volcano.sh/hierarchy-weights", "1/3/10")
	c.measures(t, cpus("qa-func", 10), cpus("qa-perf", 20))
	c.workers(t, "endurance", "qa-perf", 5, 1, 1)
	c.runs(t, "endurance", map[string]int{"": 1}, 0)
	c.runs(t, "functional", map[string]int{"": 4}, 6)

	wrong := example[*scheduling.Queue](t, weights+"departments.yaml")
	wrong.Name, wrong.Annotations = "misplaced", map[string]string{"volcano.sh/hierarchy": "rd/test", "volcano.sh/hierarchy-weights": "5/1"}
	wrong.Spec.Guarantee = scheduling.Guarantee{}
	c.create(t, wrong)
	c.until(t, func() string {
		queue, err := c.Volcano.SchedulingV1beta1().Queues().Get(t.Context(), wrong.Name, metav1.GetOptions{})
		require.NoError(t, err)
		if slices.ContainsFunc(c.events(queue.UID), func(e *corev1.Event) bool {
			return e.Type == corev1.EventTypeWarning && strings.Contains(e.Message, `annotation volcano.sh/hierarchy: "rd/test" does not start with "root/"`)
		}) {
			return ""
		}
		return "the queue has no event that says what is wrong with it"
	})
	c.workers(t, "lost", "misplaced", 1, 1, 1)
	c.refusedFor(t, "lost", "Queue <misplaced> takes no jobs: annotation volcano.sh/hierarchy")
	c.measures(t, cpus("qa-func", 10), cpus("rd-prod", 40))
}
