package main

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// amount is what the demo shows of a resource list: milli-cores, bytes and whole GPUs.
type amount struct {
	milliCPU, memory, gpus int64
}

func amountOf(list corev1.ResourceList) amount {
	gpus := list[gpu]
	return amount{milliCPU: list.Cpu().MilliValue(), memory: list.Memory().Value(), gpus: gpus.Value()}
}

// requestOf is what a pod occupies of its node.
func requestOf(pod *corev1.Pod) amount {
	return amountOf(resource.PodRequests(pod, resource.PodResourcesOptions{}))
}

func (a amount) plus(b amount) amount {
	return amount{a.milliCPU + b.milliCPU, a.memory + b.memory, a.gpus + b.gpus}
}

// within tells whether a is at most b in every dimension.
func (a amount) within(b amount) bool {
	return a.milliCPU <= b.milliCPU && a.memory <= b.memory && a.gpus <= b.gpus
}

// String gives cores, memory and GPUs as "16/64Gi/4", and nothing at all as "-".
func (a amount) String() string {
	if a == (amount{}) {
		return "-"
	}
	cores := strconv.FormatFloat(float64(a.milliCPU)/1000, 'f', -1, 64)
	gib := strconv.FormatFloat(float64(a.memory)/(1<<30), 'f', -1, 64)
	return fmt.Sprintf("%s/%sGi/%d", cores, gib, a.gpus)
}
