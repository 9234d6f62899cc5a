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

// occupied returns the cards that a pod has on its node. They follow from the resource that it requests and the labels
// of the node, and not from the annotations of the pod.
func occupied(pod *corev1.Pod, node *corev1.Node) cards {
	found := cards{}
	requests := resource.PodRequests(pod, resource.PodResourcesOptions{})

	for _, each := range card.OnNode(node, nil).Cards {
		if quantity, ok := requests[each.Resource]; ok {
			found[each.Name] += quantity.Value()
		}
	}
	return found
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
		if problem.Key == "" {
			return c
		}
		if last, ok := c[problem.Key]; ok {
			now[problem.Key] = last
		}
	}
	return now
}
