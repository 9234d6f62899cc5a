package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// label sets the label that names the GPUs of all nodes of the example, or removes it.
func (c *cluster) label(t *testing.T, named bool) {
	t.Helper()
	for _, name := range []string{"h200-1", "h800-1", "h800-2", "rtx4090-1", "rtx4090d-1"} {
		value := "null"
		if named {
			value = `"` + nodeOf(t, name).Labels["nvidia.com/gpu.product"] + `"`
		}
		patch := []byte(`{"metadata":{"labels":{"nvidia.com/gpu.product":` + value + `}}}`)
		_, err := c.Kube.CoreV1().Nodes().Patch(context.Background(), name, types.MergePatchType, patch, metav1.PatchOptions{})
		require.NoError(t, err)
	}
}

// labelsGone removes the labels of all GPUs, as when feature discovery is uninstalled. Running pods stay charged, and
// no other pod gets a card, also after a restart of the scheduler.
func labelsGone(t *testing.T, c *cluster) {
	const reason = "No queue has a quota of <nvidia.com/gpu>: the nodes that have it lack the label nvidia.com/gpu.product, which names the card"
	untyped := func(job *batch.Job) { delete(job.Spec.Tasks[0].Template.Annotations, "volcano.sh/card.name") }
	c.queue(t, "labels", `{"NVIDIA-H200": 3}`)
	c.submit(t, "before", "labels", h200, 2)
	c.runs(t, "before", map[string]int{h200: 2}, 0)

	t.Cleanup(func() { c.label(t, true) })
	c.label(t, false)
	c.submit(t, "after", "labels", h200, 4, untyped)
	c.runs(t, "after", map[string]int{}, 4)
	c.says(t, "after", reason)
	c.schedule(t, exampleConfiguration(t))
	c.cycles(t, 3)
	c.runs(t, "after", map[string]int{}, 4)
	c.says(t, "after", reason)

	c.label(t, true)
	c.runs(t, "after", map[string]int{h200: 1}, 3)
	c.runs(t, "before", map[string]int{h200: 2}, 0)
}

// labelsOfVendors has nodes with labels that name their cards. The vendors document these labels, or the argument
// cardLabels names them.
func labelsOfVendors(t *testing.T, c *cluster) {
	node := func(name string, labels map[string]string, cards corev1.ResourceName) {
		labels["kubernetes.io/hostname"] = name
		n := nodeOf(t, "cpu-1")
		n.Name, n.Labels = name, labels
		n.Status.Allocatable = n.Status.Allocatable.DeepCopy()
		n.Status.Allocatable[cards], n.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("4"), resource.MustParse("1Ti")
		n.Status.Capacity = n.Status.Allocatable
		c.create(t, n)
		t.Cleanup(func() {
			require.NoError(t, c.Kube.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}))
		})
	}
	node("amd-1", map[string]string{"amd.com/gpu.product-name": mi300x}, "amd.com/gpu")
	node("l40s-1", map[string]string{"nvidia.com/gpu.product": "NVIDIA-L40S", "nvidia.com/gpu.memory": "46068",
		"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"}, "nvidia.com/gpu.shared")
	node("mlu-1", map[string]string{"example.com/mlu-model": mlu590}, "cambricon.com/mlu")

	c.reconfigure(t, "reclaimGangs: whole", "reclaimGangs: whole\n      cardLabels:\n        cambricon.com/mlu: example.com/mlu-model")
	c.queue(t, "labels", `{"AMD_Instinct_MI300X_OAM": 1, "NVIDIA-L40S/ts*1/4": 2, "MLU590": 3}`)
	for card, n := range map[string]int{mi300x: 1, timeSlice: 2, mlu590: 3} {
		job := map[string]string{mi300x: "amd", timeSlice: "slices", mlu590: "mlu"}[card]
		c.submit(t, job, "labels", card, 4)
		c.runs(t, job, map[string]int{card: n}, 4-n)
		c.says(t, job, insufficient("labels", card, 1, n+1, n))
	}
}
