package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

const vgpuNode = "vgpu-1"

// fractionsOfCards has Volcano's plugin deviceshare give pods fractions of two cards. Another node has whole cards of
// the same model. One quota bounds both.
func fractionsOfCards(t *testing.T, c *cluster) {
	const before = "- name: predicates"
	const after = "- name: deviceshare\n    arguments:\n      deviceshare.VGPUEnable: true\n  - name: predicates"
	c.reconfigure(t, before, after)
	c.cycles(t, 2) // deviceshare reads nodes that come after its first session
	c.create(t, sharingNode(t))
	t.Cleanup(func() {
		require.NoError(t, c.Kube.CoreV1().Nodes().Delete(context.Background(), vgpuNode, metav1.DeleteOptions{}))
	})
	c.queue(t, "fractions", `{"NVIDIA-H200": 2}`)
	c.submit(t, "whole", "fractions", h200, 1)
	c.runs(t, "whole", map[string]int{h200: 1}, 0)
	quarter := func(job *batch.Job) {
		request(&job.Spec.Tasks[0].Template.Spec, "volcano.sh/vgpu-number", 1)
		request(&job.Spec.Tasks[0].Template.Spec, "volcano.sh/vgpu-memory", 2000)
	}
	const full = "Queue <fractions> has insufficient <NVIDIA-H200> quota: requested <0.25>, total would be <2.25>, but capability is <2>"
	c.submit(t, "parts", "fractions", h200, 6, quarter)
	c.runs(t, "parts", map[string]int{"": 4}, 2)
	c.says(t, "parts", full)
	c.until(t, func() string {
		for _, pod := range c.pods("parts") {
			if ids := pod.Annotations["volcano.sh/vgpu-ids-new"]; pod.Spec.NodeName != "" && !strings.HasPrefix(ids, "GPU-") {
				return fmt.Sprintf("pod %s has the devices %q", pod.Name, ids)
			}
		}
		return ""
	})

	// A new scheduler, and then a node that registers nothing any more, change no charge.
	c.schedule(t, strings.Replace(exampleConfiguration(t), before, after, 1))
	c.cycles(t, 3)
	c.runs(t, "parts", map[string]int{"": 4}, 2)
	c.says(t, "parts", full)
	patch := []byte(`{"metadata":{"annotations":{"volcano.sh/node-vgpu-register":null}}}`)
	_, err := c.Kube.CoreV1().Nodes().Patch(t.Context(), vgpuNode, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
	c.cycles(t, 3)
	c.submit(t, "another", "fractions", h200, 1)
	c.runs(t, "another", map[string]int{}, 1)
	c.says(t, "another", insufficient("fractions", h200, 1, 3, 2))
	c.complete(t, "parts", 4)
	c.runs(t, "another", map[string]int{h200: 1}, 0)
}

// sharingNode registers two cards as Volcano's device plugin does. Volcano v1.14 marks nodes that it asked for a sign
// of life long ago; this one was asked in the future.
func sharingNode(t *testing.T) *corev1.Node {
	n := nodeOf(t, "cpu-1")
	n.Name, n.Labels = vgpuNode, map[string]string{"kubernetes.io/hostname": vgpuNode}
	registered := ""
	for i := range 2 {
		registered += fmt.Sprintf("GPU-0fc3eda5-e98b-a25b-5b0d-00000000000%d,10,8000,NVIDIA-NVIDIA H200,true,hami-core:", i)
	}
	n.Annotations = map[string]string{"volcano.sh/node-vgpu-register": registered,
		"volcano.sh/node-vgpu-handshake": "Requesting_2099.01.01 00:00:00"}
	n.Status.Allocatable = n.Status.Allocatable.DeepCopy()
	for name, amount := range map[corev1.ResourceName]string{"volcano.sh/vgpu-number": "20", "volcano.sh/vgpu-memory": "16000",
		"volcano.sh/vgpu-cores": "200", corev1.ResourceMemory: "1Ti"} {
		n.Status.Allocatable[name] = resource.MustParse(amount)
	}
	n.Status.Capacity = n.Status.Allocatable
	return n
}
