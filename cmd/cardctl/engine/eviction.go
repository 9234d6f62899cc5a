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
	For       []Taker `json:"for"` // the job that it is evicted for; none where a quota is enforced
}

// Taker is a job that pods are evicted for.
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
	claimants := w.claimants(s)
	for _, g := range w.Groups {
		job := s.Jobs[g.ID()]
		if job == nil {
			continue
		}

		for _, pod := range g.Pods {
			task := job.Tasks[api.TaskID(pod.UID)]
			if task == nil || task.Status != api.Releasing || pod.DeletionTimestamp != nil {
				continue
			}

			e := Eviction{
				Namespace: g.Namespace,
				Owner:     g.Owner,
				Queue:     g.Spec.Queue,
				Pod:       pod.Name,
				Node:      pod.Spec.NodeName,
			}
			if taker := claimants[string(g.ID())+"/"+pod.Name]; taker != nil {
				e.For = []Taker{*taker}
			}
			all = append(all, e)
		}
	}

	slices.SortFunc(all, func(a, b Eviction) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod))
	})

	return all, nil
}
