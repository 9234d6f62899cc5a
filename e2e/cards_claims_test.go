package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// driver is the name of NVIDIA's driver. A test publishes ResourceSlices in place of the driver.
const driver = "gpu.nvidia.com"

// publish publishes the devices of a node as the driver does: whole H200, and MIG slices of another one.
func (c *cluster) publish(t *testing.T, node string, whole, parts int) {
	t.Helper()
	device := func(name string, attributes map[string]string) resourcev1.Device {
		d := resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}}
		for key, text := range attributes {
			d.Attributes[resourcev1.QualifiedName(key)] = resourcev1.DeviceAttribute{StringValue: &text}
		}
		return d
	}
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + "-" + driver}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}}}
	for i := range whole {
		slice.Spec.Devices = append(slice.Spec.Devices, device(fmt.Sprint("gpu-", i), map[string]string{"type": "gpu", "productName": "NVIDIA H200"}))
	}
	for i := range parts {
		slice.Spec.Devices = append(slice.Spec.Devices, device(fmt.Sprint("gpu-9-mig-", i),
			map[string]string{"type": "mig", "productName": "NVIDIA H200", "profile": "1g.18gb"}))
	}
	resources := c.Kube.ResourceV1()
	_, err := resources.ResourceSlices().Create(t.Context(), slice, metav1.CreateOptions{})
	require.NoError(t, err)
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: resourcev1.DeviceClassSpec{
		Selectors: admitting(`device.driver == "` + driver + `"`)}}
	_, err = resources.DeviceClasses().Create(t.Context(), class, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, now := context.Background(), metav1.DeleteOptions{}
		require.NoError(t, resources.ResourceSlices().Delete(ctx, slice.Name, now))
		require.NoError(t, resources.DeviceClasses().Delete(ctx, class.Name, now))
	})
}

func admitting(expression string) []resourcev1.DeviceSelector {
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
}

// ofType admits the devices of a type.
func ofType(name string) string {
	return `device.attributes["` + driver + `"].type == "` + name + `"`
}

// exactly requests a number of devices.
func exactly(count int64, expression string) resourcev1.DeviceRequest {
	return resourcev1.DeviceRequest{Name: "cards", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: driver,
		AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count, Selectors: admitting(expression)}}
}

// claim makes a claim that pods name, and template one that a claim of each pod is made from.
func (c *cluster) claim(t *testing.T, name string, request resourcev1.DeviceRequest) {
	t.Helper()
	o := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	o.Spec.Devices.Requests = []resourcev1.DeviceRequest{request}
	_, err := c.Kube.ResourceV1().ResourceClaims(c.namespace).Create(t.Context(), o, metav1.CreateOptions{})
	require.NoError(t, err)
}

func (c *cluster) template(t *testing.T, name string, request resourcev1.DeviceRequest) {
	t.Helper()
	o := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: name}}
	o.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{request}
	_, err := c.Kube.ResourceV1().ResourceClaimTemplates(c.namespace).Create(t.Context(), o, metav1.CreateOptions{})
	require.NoError(t, err)
}

// claiming has the pods of a job request a claim in place of an extended resource.
func claiming(from corev1.PodResourceClaim) func(*batch.Job) {
	return func(job *batch.Job) {
		template := &job.Spec.Tasks[0].Template
		template.Annotations = nil
		container := &template.Spec.Containers[0]
		for _, list := range []corev1.ResourceList{container.Resources.Requests, container.Resources.Limits} {
			delete(list, "nvidia.com/gpu")
			delete(list, "nvidia.com/mig-1g.18gb")
			list[corev1.ResourceCPU], list[corev1.ResourceMemory] = resource.MustParse("100m"), resource.MustParse("64Mi")
		}
		from.Name = "cards"
		template.Spec.ResourceClaims = []corev1.PodResourceClaim{from}
		container.Resources.Claims = []corev1.ResourceClaim{{Name: "cards"}}
	}
}

func made(template string) func(*batch.Job) {
	return claiming(corev1.PodResourceClaim{ResourceClaimTemplateName: &template})
}

func naming(claim string) func(*batch.Job) {
	return claiming(corev1.PodResourceClaim{ResourceClaimName: &claim})
}

// onNodes waits until so many pods of a workload have a node, and so many wait.
func (c *cluster) onNodes(t *testing.T, workload string, placed, waiting int) {
	t.Helper()
	c.until(t, func() string {
		if all, wait := len(c.pods(workload)), len(c.waiting(workload)); all-wait != placed || wait != waiting {
			return fmt.Sprintf("%s should have %d pods on nodes and %d that wait, it has %d and %d", workload, placed, waiting, all-wait, wait)
		}
		return ""
	})
}

// resourceClaims has pods with claims on the devices of a driver, and pods of the device plugin. Both count against the
// same quota. There are claims from templates, shared claims, claims on MIG slices, and claims with alternatives.
func resourceClaims(t *testing.T, c *cluster) {
	node := nodeOf(t, "cpu-1")
	node.Name, node.Labels = "dra-1", map[string]string{"kubernetes.io/hostname": "dra-1"}
	c.create(t, node)
	t.Cleanup(func() {
		require.NoError(t, c.Kube.CoreV1().Nodes().Delete(context.Background(), node.Name, metav1.DeleteOptions{}))
	})
	c.publish(t, node.Name, 4, 3)
	configuration := strings.Replace(exampleConfiguration(t), "- name: predicates\n",
		"- name: predicates\n    arguments:\n      predicate.DynamicResourceAllocationEnable: true\n", 1)
	c.schedule(t, configuration)
	t.Cleanup(func() { c.schedule(t, exampleConfiguration(t)) })

	c.queue(t, "claims", `{"NVIDIA-H200": 3, "NVIDIA-H200/mig-1g.18gb-mixed": 2}`)
	c.submit(t, "plugin", "claims", h200, 1)
	c.runs(t, "plugin", map[string]int{h200: 1}, 0)
	c.template(t, "h200", exactly(1, ofType("gpu")))
	c.submit(t, "own", "claims", h200, 4, made("h200"))
	c.onNodes(t, "own", 2, 2)
	c.says(t, "own", insufficient("claims", h200, 1, 4, 3))

	// Three pods share one slice.
	c.claim(t, "slice", exactly(1, ofType("mig")))
	c.submit(t, "sharing", "claims", migSmall, 3, naming("slice"))
	c.onNodes(t, "sharing", 3, 0)
	c.template(t, "slices", exactly(1, ofType("mig")))
	c.submit(t, "slices", "claims", migSmall, 2, made("slices"))
	c.onNodes(t, "slices", 1, 1)
	c.says(t, "slices", insufficient("claims", migSmall, 1, 3, 2))

	// When pods end, their claims are free. Two cards, or else a slice: the queue has quota of both.
	c.deleteJob(t, "own")
	c.deleteJob(t, "slices")
	c.template(t, "either", resourcev1.DeviceRequest{Name: "cards", FirstAvailable: []resourcev1.DeviceSubRequest{
		{Name: "two", DeviceClassName: driver, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2, Selectors: admitting(ofType("gpu"))},
		{Name: "part", DeviceClassName: driver, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1, Selectors: admitting(ofType("mig"))},
	}})
	c.submit(t, "either", "claims", h200, 2, made("either"))
	c.onNodes(t, "either", 1, 1)
	c.mentions(t, "either", insufficient("claims", h200, 2, 5, 3))

	// A restarted scheduler charges the same.
	c.schedule(t, configuration)
	c.cycles(t, 3)
	c.onNodes(t, "either", 1, 1)
	c.submit(t, "more", "claims", h200, 1)
	c.says(t, "more", insufficient("claims", h200, 1, 4, 3))

	// A claim that cannot be read concerns its own pod alone.
	c.template(t, "broken", exactly(1, `device.attributes["nothing"].type == "x"`))
	c.submit(t, "broken", "claims", h200, 1, made("broken"))
	c.mentions(t, "broken", "node(s) have too few devices for resource claim")
}

// mentions waits until the condition of each waiting pod has these words.
func (c *cluster) mentions(t *testing.T, workload, words string) {
	t.Helper()
	c.until(t, func() string {
		for _, pod := range c.waiting(workload) {
			if message := scheduled(pod).Message; !strings.Contains(message, words) {
				return fmt.Sprintf("the condition of pod %s should mention %q, it says %q", pod.Name, words, message)
			}
		}
		return ""
	})
}

func (c *cluster) deleteJob(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, c.Volcano.BatchV1alpha1().Jobs(c.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	c.until(t, func() string {
		if n := len(c.pods(name)); n > 0 {
			return fmt.Sprintf("%d pods of %s are left", n, name)
		}
		return ""
	})
}
