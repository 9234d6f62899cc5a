package engine

import (
	"cmp"
	"context"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// Eviction is a pod that the next cycle evicts.
type Eviction struct {
	Namespace string  `json:"namespace"`
	Owner     string  `json:"owner"`
	Queue     string  `json:"queue"`
	Pod       string  `json:"pod"`
	Node      string  `json:"node"`
	For       []Taker `json:"for"` // the jobs that the cycle gives room on the node
}

// Taker is a job that waits for pods to leave a node.
type Taker struct {
	Namespace string `json:"namespace"`
	Owner     string `json:"owner"`
	Queue     string `json:"queue"`
}

// Evictions returns what the actions of the next cycle evict, in the order of the pods, or the
// error of ctx. The world stays as it is.
func Evictions(ctx context.Context, w *World, c *Configuration) ([]Eviction, error) {
	s, err := Open(ctx, w, c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	s.forgetLost()
	if err := s.Run(); err != nil {
		return nil, err
	}
	all, takers := []Eviction{}, map[string][]Taker{}
	for _, g := range w.Groups {
		job := s.Jobs[g.ID()]
		if job == nil {
			continue
		}
		for _, task := range job.TaskStatusIndex[api.Pipelined] {
			taker := Taker{g.Namespace, g.Owner, g.Spec.Queue}
			if !slices.Contains(takers[task.NodeName], taker) {
				takers[task.NodeName] = append(takers[task.NodeName], taker)
			}
		}
		for _, pod := range g.Pods {
			task := job.Tasks[api.TaskID(pod.UID)]
			if task != nil && task.Status == api.Releasing && pod.DeletionTimestamp == nil {
				all = append(all, Eviction{Namespace: g.Namespace, Owner: g.Owner, Queue: g.Spec.Queue, Pod: pod.Name, Node: pod.Spec.NodeName})
			}
		}
	}
	for i := range all {
		all[i].For = takers[all[i].Node]
	}
	slices.SortFunc(all, func(a, b Eviction) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod))
	})
	return all, nil
}
