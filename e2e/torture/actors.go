package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// mostJobs is how many jobs there are at a time.
const mostJobs = 24

// tenants submit, cancel, resize and queue jobs again, until ctx ends.
func (r *round) tenants(ctx context.Context, draw *rand.Rand) {
	type known struct{ namespace, name string }
	var jobs []known
	for n := 0; ctx.Err() == nil; n++ {
		pause(ctx, time.Duration(draw.IntN(120))*time.Millisecond)
		if what := draw.IntN(10); what < 6 && len(jobs) < mostJobs || len(jobs) == 0 {
			job := drawJob(draw, fmt.Sprintf("job-%d", n), r.world.queues[draw.IntN(len(r.world.queues))])
			if r.try(ctx, func(ctx context.Context) error { return r.create(ctx, job) }) {
				jobs = append(jobs, known{job.Namespace, job.Name})
			}
			continue
		}
		at := draw.IntN(len(jobs))
		job := jobs[at]
		again := draw.IntN(3) == 0
		size := int32(1 + draw.IntN(4))
		if draw.IntN(2) == 0 {
			r.try(ctx, func(ctx context.Context) error { return r.resize(ctx, job.namespace, job.name, size) })
			continue
		}
		replacement := drawJob(draw, job.name, r.world.queues[draw.IntN(len(r.world.queues))])
		replacement.Namespace = job.namespace
		r.try(ctx, func(ctx context.Context) error { return r.cancel(ctx, job.namespace, job.name) })
		if again && r.try(ctx, func(ctx context.Context) error { return r.create(ctx, replacement) }) {
			continue // the same job in another queue
		}
		jobs = append(jobs[:at], jobs[at+1:]...)
	}
}

// try acts for a tenant, who does not insist. It reports whether the API server did it.
func (r *round) try(ctx context.Context, act func(context.Context) error) bool {
	r.acts.Add(1)
	if err := act(ctx); err != nil {
		r.refused.Add(1)
		return false
	}
	return true
}

func (r *round) create(ctx context.Context, job *batch.Job) error {
	_, err := r.plane.Volcano.BatchV1alpha1().Jobs(job.Namespace).Create(ctx, job, metav1.CreateOptions{})
	return err
}

func (r *round) cancel(ctx context.Context, namespace, name string) error {
	background := metav1.DeletePropagationBackground
	err := r.plane.Volcano.BatchV1alpha1().Jobs(namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (r *round) resize(ctx context.Context, namespace, name string, replicas int32) error {
	jobs := r.plane.Volcano.BatchV1alpha1().Jobs(namespace)
	job, err := jobs.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if job.Spec.MinAvailable == job.Spec.Tasks[0].Replicas {
		job.Spec.MinAvailable = replicas
	}
	job.Spec.MinAvailable = min(job.Spec.MinAvailable, replicas)
	task := &job.Spec.Tasks[0]
	task.Replicas, task.MinAvailable = replicas, &job.Spec.MinAvailable
	_, err = jobs.Update(ctx, job, metav1.UpdateOptions{})
	return err
}

// admins edit quotas, the tree, and annotations that are wrong for a while, until ctx ends.
func (r *round) admins(ctx context.Context, draw *rand.Rand) error {
	for ctx.Err() == nil {
		pause(ctx, time.Duration(300+draw.IntN(1500))*time.Millisecond)
		name := r.world.queues[draw.IntN(len(r.world.queues))]
		inner := r.world.tree && draw.IntN(4) == 0
		if inner {
			name = r.world.inner[draw.IntN(len(r.world.inner))]
		}
		values, spec := r.world.drawBounds(draw, inner)
		switch draw.IntN(12) {
		case 0, 1:
			key := []string{"volcano.sh/card.quota", "volcano.sh/card.deserved", "volcano.sh/card.guarantee"}[draw.IntN(3)]
			values, spec = map[string]any{key: badValues[draw.IntN(len(badValues))]}, nil
		case 2:
			if r.world.tree && !inner {
				values, spec = nil, map[string]any{"parent": r.world.inner[draw.IntN(len(r.world.inner))]}
			}
		}
		r.acts.Add(1)
		if err := r.edit(name, values, spec); err != nil {
			return fmt.Errorf("editing queue %s: %w", name, err)
		}
	}
	return nil
}

// bound gives all queues bounds anew, which ends what admins did wrong.
func (r *round) bound(draw *rand.Rand) error {
	for i, name := range append(r.world.inner, r.world.queues...) {
		annotations, spec := r.world.drawBounds(draw, i < len(r.world.inner))
		if err := r.edit(name, annotations, spec); err != nil {
			return err
		}
	}
	return nil
}
