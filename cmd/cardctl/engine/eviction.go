package engine

import (
	"cmp"
	"slices"
	"strings"
)

// Eviction is a pod that the next cycle evicts.
type Eviction struct {
	Namespace string  `json:"namespace"`
	Owner     string  `json:"owner"`
	Queue     string  `json:"queue"`
	Pod       string  `json:"pod"`
	Node      string  `json:"node"`
	For       []Taker `json:"for"` // the job that it is evicted for; none where a quota is enforced
}

// Taker is a job that pods are evicted for.
type Taker struct {
	Namespace string `json:"namespace"`
	Owner     string `json:"owner"`
	Queue     string `json:"queue"`
	// Group is the namespace/name of its PodGroup, "" if it is not known.
	Group string `json:"-"`
}

// Evictions returns the pods that the first of some cycles evicts, in the order of their names.
func Evictions(events []Event) []Eviction {
	all := []Eviction{}
	for _, happened := range events {
		if happened.Cycle != 1 || happened.Kind != Evicted {
			continue
		}

		namespace, _, _ := strings.Cut(happened.Group, "/")
		e := Eviction{
			Namespace: namespace,
			Owner:     happened.Owner,
			Queue:     happened.Queue,
			Pod:       happened.Pod,
			Node:      happened.Node,
		}
		if happened.For != nil {
			e.For = []Taker{*happened.For}
		}
		all = append(all, e)
	}

	slices.SortFunc(all, func(a, b Eviction) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod))
	})
	return all
}
