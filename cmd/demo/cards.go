package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"github.com/capacity-card/capacity-card/index/card"
)

// cards are numbers of whole cards, or of slices of cards, by name. A quota can have an entry of 0.
type cards map[string]int64

// String reads "2 NVIDIA-H200, 1 NVIDIA-H800", and "-" for no cards.
func (c cards) String() string {
	var each []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if c[name] != 0 {
			each = append(each, fmt.Sprintf("%d %s", c[name], name))
		}
	}

	if len(each) == 0 {
		return "-"
	}
	return strings.Join(each, ", ")
}

func (c cards) add(other cards) {
	for name, count := range other {
		c[name] += count
	}
}

// heldBy returns the cards that a pod has while it is bound to a node and has not ended. The demo shows the cluster and
// judges no decision, so it asks no oracle. The cards follow from the resource that the pod requests and the labels of
// the node, and not from the annotations of the pod.
func heldBy(pod *corev1.Pod, nodes []*corev1.Node) cards {
	i := slices.IndexFunc(nodes, func(node *corev1.Node) bool { return node.Name == pod.Spec.NodeName })
	if i < 0 || !live(pod) {
		return nil
	}

	held := cards{}
	requests := resource.PodRequests(pod, resource.PodResourcesOptions{})
	for _, each := range card.OnNode(nodes[i], nil).Cards {
		if quantity, ok := requests[each.Resource]; ok {
			held[each.Name] += quantity.Value()
		}
	}
	return held
}

func live(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodPending || pod.Status.Phase == corev1.PodRunning
}

// allotment holds the card annotations of a queue.
type allotment struct {
	quota, deserved cards
}

// read returns the values of annotations. A key, or a whole annotation, that is wrong now keeps its last good value.
func (a allotment) read(annotations map[string]string) allotment {
	return allotment{
		quota:    a.quota.read(annotations, card.QuotaKey),
		deserved: a.deserved.read(annotations, card.DeservedKey),
	}
}

func (c cards) read(annotations map[string]string, key string) cards {
	text, ok := annotations[key]
	if !ok {
		return nil
	}

	entries, problems := card.ParseQuota(text)
	now := cards{}
	for _, entry := range entries {
		now[entry.Name] = entry.Cards
	}

	for _, problem := range problems {
		// The annotation as a whole is wrong.
		if problem.Key == "" {
			return c
		}
		if last, ok := c[problem.Key]; ok {
			now[problem.Key] = last
		}
	}
	return now
}
