package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// The cards and queues of examples/cards.
const (
	h200     = "NVIDIA-H200"
	h800     = "NVIDIA-H800"
	rtx4090  = "NVIDIA-GeForce-RTX-4090"
	rtx4090D = "NVIDIA-GeForce-RTX-4090-D"
	ascend   = "Ascend-910B"
	mps      = "NVIDIA-H800/mps-80g*1/2"
	migSmall = "NVIDIA-H200/mig-1g.18gb-mixed"
	migLarge = "NVIDIA-H200/mig-3g.71gb-mixed"

	// Of the nodes of LabelsOfVendors.
	mi300x    = "AMD_Instinct_MI300X_OAM"
	timeSlice = "NVIDIA-L40S/ts*1/4"
	mlu590    = "MLU590"

	sixCards = "cr-queue1" // queue.yaml
	twoCards = "cr-queue2" // queue-either-or.yaml
)

// cardTests run in this order on one cluster.
var cardTests = []struct {
	name string
	run  func(*testing.T, *cluster)
}{
	{"QueueOfSixCards", queueOfSixCards},
	{"SingleCardJob", singleCardJob},
	{"RequestAboveQuota", requestAboveQuota},
	{"ReasonsOnTheOwner", reasonsOnTheOwner},
	{"JobOfRoles", jobOfRoles},
	{"EitherOrJob", eitherOrJob},
	{"Preference", preference},
	{"EitherOrWithAffinity", eitherOrWithAffinity},
	{"MixedList", mixedList},
	{"UntypedPods", untypedPods},
	{"SeveralVendors", severalVendors},
	{"PodGroup", podGroup},
	{"OtherDevices", otherDevices},
	{"UnlimitedCPUAndMemory", unlimitedCPUAndMemory},

	{"DeploymentScaling", deploymentScaling},
	{"EitherOrDeployment", eitherOrDeployment},
	{"DeploymentWithAffinity", deploymentWithAffinity},
	{"ReplicaSetScaling", replicaSetScaling},
	{"Autoscaler", autoscaler},
	{"RollingUpdate", rollingUpdate},

	{"BadAnnotation", badAnnotation},
	{"EditedWhileWaiting", editedWhileWaiting},
	{"QuotaRaisedAndLowered", quotaRaisedAndLowered},
	{"QueueClosed", queueClosed},
	{"Metrics", metricsOfCards},
	{"EventsDoNotRepeat", eventsDoNotRepeat},

	{"NodeLost", nodeLost},
	{"LabelsGone", labelsGone},
	{"LabelsOfVendors", labelsOfVendors},
	{"Groups", groupsOfCards},
	{"GroupsInATree", groupsInATree},
	{"ResourceClaims", resourceClaims},
	{"Fractions", fractionsOfCards},
	{"QuotaAboveCluster", quotaAboveCluster},
	{"SharesOfNodes", sharesOfNodes},
	{"LentCardsComeBack", lentCardsComeBack},
	{"DeploymentTakesBack", deploymentTakesBack},
	{"PreemptionInAQueue", preemptionInAQueue},
	{"SchedulerRestart", schedulerRestart},
}

// TestCards tests the plugin capacity-card with the manifests of examples/cards.
func TestCards(t *testing.T) {
	c := plane(t, "nodes.yaml")
	c.schedule(t, exampleConfiguration(t))
	for _, each := range cardTests {
		t.Run(each.name, func(t *testing.T) {
			t.Cleanup(func() { c.clear(t) })
			each.run(t, c)
		})
	}
}

// exampleConfiguration is the volcano-scheduler.conf of the example.
func exampleConfiguration(t *testing.T) string {
	t.Helper()
	return example[*corev1.ConfigMap](t, "scheduler.conf.yaml").Data["volcano-scheduler.conf"]
}

// reconfigure schedules with the example's configuration, changed by replacing texts, for the rest of a test.
func (c *cluster) reconfigure(t *testing.T, oldNew ...string) {
	t.Helper()
	original := exampleConfiguration(t)
	changed := strings.NewReplacer(oldNew...).Replace(original)
	require.NotEqual(t, original, changed)
	c.schedule(t, changed)
	t.Cleanup(func() { c.schedule(t, original) })
}

// clear removes everything but the nodes.
func (c *cluster) clear(t *testing.T) {
	t.Helper()
	ctx, now, all := context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}
	require.NoError(t, c.Kube.AutoscalingV2().HorizontalPodAutoscalers(c.namespace).DeleteCollection(ctx, now, all))
	require.NoError(t, c.Kube.AppsV1().Deployments(c.namespace).DeleteCollection(ctx, now, all))
	require.NoError(t, c.Kube.AppsV1().ReplicaSets(c.namespace).DeleteCollection(ctx, now, all))
	require.NoError(t, c.Volcano.BatchV1alpha1().Jobs(c.namespace).DeleteCollection(ctx, now, all))
	require.NoError(t, c.Volcano.SchedulingV1beta1().PodGroups(c.namespace).DeleteCollection(ctx, now, all))
	require.NoError(t, c.Kube.CoreV1().Pods(c.namespace).DeleteCollection(ctx, now, all))
	c.until(t, func() string {
		groups, err := c.mirror.Volcano.Scheduling().V1beta1().PodGroups().Lister().List(labels.Everything())
		if pods := c.pods(""); err != nil || len(pods)+len(groups) > 0 {
			return fmt.Sprintf("%d pods and %d pod groups are left", len(pods), len(groups))
		}
		return ""
	})
	queues, err := c.Volcano.SchedulingV1beta1().Queues().List(ctx, all)
	require.NoError(t, err)
	for _, queue := range queues.Items {
		if !slices.Contains([]string{"root", "default"}, queue.Name) {
			err := c.Volcano.SchedulingV1beta1().Queues().Delete(ctx, queue.Name, now)
			require.True(t, err == nil || apierrors.IsNotFound(err), err)
		}
	}
	c.mu.Lock()
	clear(c.quotas)
	c.mu.Unlock()
	c.renewNamespace(t)
}

// renewNamespace goes on in a new namespace. Volcano's job controller loses a job that has the name of another of its
// namespace that was just deleted: it never gets pods.
func (c *cluster) renewNamespace(t *testing.T) {
	t.Helper()
	fresh := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	made, err := c.Kube.CoreV1().Namespaces().Create(context.Background(), fresh, metav1.CreateOptions{})
	require.NoError(t, err)
	c.namespace = made.Name
}

// queue creates a queue with a card quota, and cpu and memory for pods without cards.
func (c *cluster) queue(t *testing.T, name, cardQuota string) {
	t.Helper()
	queue := example[*scheduling.Queue](t, "queue.yaml")
	queue.Name, queue.Annotations["volcano.sh/card.quota"] = name, cardQuota
	c.create(t, queue)
}

// annotate sets an annotation of a queue.
func (c *cluster) annotate(t *testing.T, queue, key, value string) {
	t.Helper()
	if key == "volcano.sh/card.quota" {
		c.expectQuota(&scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: queue, Annotations: map[string]string{key: value}}})
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	require.NoError(t, err)
	_, err = c.Volcano.SchedulingV1beta1().Queues().Patch(t.Context(), queue, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
}

func (c *cluster) setQuota(t *testing.T, queue, quota string) {
	t.Helper()
	c.annotate(t, queue, "volcano.sh/card.quota", quota)
}

// submit creates a Volcano job like the job of the example. Its pods have one card each, and it starts with the first
// of them. It does not state its request beforehand.
func (c *cluster) submit(t *testing.T, name, queue, cards string, pods int32, change ...func(*batch.Job)) {
	t.Helper()
	job := example[*batch.Job](t, "job-single.yaml")
	job.Name, job.Annotations = name, nil
	job.Spec.Queue, job.Spec.MinAvailable, job.Spec.Tasks[0].Replicas = queue, 1, pods
	template := &job.Spec.Tasks[0].Template
	template.Annotations = map[string]string{"volcano.sh/card.name": cards}
	first, _, _ := strings.Cut(cards, "|")
	request(&template.Spec, resourceOf(first), 1)
	for _, each := range change {
		each(job)
	}
	c.create(t, job)
}

// request has a pod request n of a resource in place of the example's GPU.
func request(pod *corev1.PodSpec, of corev1.ResourceName, n int64) {
	quantity, resources := *resource.NewQuantity(n, resource.DecimalSI), pod.Containers[0].Resources
	for _, list := range []corev1.ResourceList{resources.Requests, resources.Limits} {
		delete(list, "nvidia.com/gpu")
		list[of] = quantity
	}
}

// gang has a job start with all its pods or not at all.
func gang(job *batch.Job) { job.Spec.MinAvailable = job.Spec.Tasks[0].Replicas }

// requesting has a job state its request.
func requesting(text string) func(*batch.Job) {
	return func(job *batch.Job) { job.Annotations = map[string]string{"volcano.sh/card.request": text} }
}

// cpuJob submits a job of one pod without cards.
func (c *cluster) cpuJob(t *testing.T, name, queue, cpu, memory string) {
	t.Helper()
	c.submit(t, name, queue, "", 1, func(job *batch.Job) {
		template := &job.Spec.Tasks[0].Template
		template.Annotations = nil
		template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		}}
	})
}

// deploy creates a Deployment like the Deployment of the example, under another name.
func (c *cluster) deploy(t *testing.T, name, queue, cards string, replicas int32) {
	t.Helper()
	deployment := example[*apps.Deployment](t, "deployment-single.yaml")
	deployment.Name, deployment.Spec.Replicas = name, &replicas
	deployment.Spec.Selector.MatchLabels = map[string]string{"app": name}
	template := &deployment.Spec.Template
	template.Labels = map[string]string{"app": name}
	template.Annotations = map[string]string{scheduling.QueueNameAnnotationKey: queue, "volcano.sh/card.name": cards}
	c.create(t, deployment)
}

// scale sets the number of pods of a Deployment.
func (c *cluster) scale(t *testing.T, deployment string, replicas int) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := c.Kube.AppsV1().Deployments(c.namespace).Patch(t.Context(), deployment, types.MergePatchType, patch, metav1.PatchOptions{}, "scale")
	require.NoError(t, err)
}

// complete ends the running pods of a Volcano job.
func (c *cluster) complete(t *testing.T, job string, pods int) {
	t.Helper()
	n, err := c.CompletePods(t.Context(), c.namespace, batch.JobNameKey+"="+job)
	require.NoError(t, err)
	require.Equal(t, pods, n)
}

// cycles returns when the scheduler has opened at least n sessions. It runs jobs one by one. Each job takes a session
// to be admitted and another session to be placed.
func (c *cluster) cycles(t *testing.T, n int) {
	t.Helper()
	const queue = "ticker"
	if _, err := c.mirror.Volcano.Scheduling().V1beta1().Queues().Lister().Get(queue); err != nil {
		c.queue(t, queue, "{}")
	}
	for ; n > 0; n -= 2 {
		c.ticks++
		name := fmt.Sprintf("tick-%d", c.ticks)
		c.cpuJob(t, name, queue, "1", "1Gi")
		c.runs(t, name, map[string]int{"": 1}, 0)
		c.complete(t, name, 1)
	}
}
