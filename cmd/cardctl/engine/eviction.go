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

// Taker is a job that waits until pods leave a node.
type Taker struct {
	Namespace string `json:"namespace"`
	Owner     string `json:"owner"`
	Queue     string `json:"queue"`
}

// Evictions returns the pods that the next cycle evicts, in the order of their names, or the error of ctx. It does not
// change the world.
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

	all := []Eviction{}
	takers := map[string][]Taker{} // by node
	for _, g := range w.Groups {
		job := s.Jobs[g.ID()]
		if job == nil {
			continue
		}

		taker := Taker{g.Namespace, g.Owner, g.Spec.Queue}
		for _, task := range job.TaskStatusIndex[api.Pipelined] {
			if !slices.Contains(takers[task.NodeName], taker) {
				takers[task.NodeName] = append(takers[task.NodeName], taker)
			}
		}

		for _, pod := range g.Pods {
			task := job.Tasks[api.TaskID(pod.UID)]
			if task != nil && task.Status == api.Releasing && pod.DeletionTimestamp == nil {
				all = append(all, Eviction{
					Namespace: g.Namespace,
					Owner:     g.Owner,
					Queue:     g.Spec.Queue,
					Pod:       pod.Name,
					Node:      pod.Spec.NodeName,
				})
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
