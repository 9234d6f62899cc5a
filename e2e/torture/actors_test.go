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

// mostJobs bounds the number of jobs at a time.
const mostJobs = 24

// submitted names a job of a tenant.
type submitted struct{ namespace, name string }

// tenants submit, cancel, resize and resubmit jobs until ctx ends.
func (r *round) tenants(ctx context.Context, draw *rand.Rand) {
	var jobs []submitted
	for n := 0; ctx.Err() == nil; n++ {
		pause(ctx, time.Duration(draw.IntN(120))*time.Millisecond)

		submit := draw.IntN(10) < 6 && len(jobs) < mostJobs
		if submit || len(jobs) == 0 {
			job := drawJob(draw, fmt.Sprintf("job-%d", n), r.world.queues[draw.IntN(len(r.world.queues))])
			if r.try(ctx, func(ctx context.Context) error { return r.create(ctx, job) }) {
				jobs = append(jobs, submitted{job.Namespace, job.Name})
			}
			continue
		}

		at := draw.IntN(len(jobs))
		if !r.changeJob(ctx, draw, jobs[at]) {
			jobs = append(jobs[:at], jobs[at+1:]...)
		}
	}
}

// changeJob resizes a job, cancels it, or moves it to another queue. It reports whether the job still exists.
func (r *round) changeJob(ctx context.Context, draw *rand.Rand, job submitted) bool {
	move := draw.IntN(3) == 0
	size := int32(1 + draw.IntN(4))
	resize := draw.IntN(2) == 0
	if resize {
		r.try(ctx, func(ctx context.Context) error { return r.resize(ctx, job.namespace, job.name, size) })
		return true
	}

	replacement := drawJob(draw, job.name, r.world.queues[draw.IntN(len(r.world.queues))])
	replacement.Namespace = job.namespace
	r.try(ctx, func(ctx context.Context) error { return r.cancel(ctx, job.namespace, job.name) })

	return move && r.try(ctx, func(ctx context.Context) error { return r.create(ctx, replacement) })
}

// try acts for a tenant, which does not retry. It reports whether the API server accepted the request.
func (r *round) try(ctx context.Context, act func(context.Context) error) bool {
	r.acts.Add(1)
	err := act(ctx)
	if err != nil {
		r.refused.Add(1)
	}

	return err == nil
}

func (r *round) create(ctx context.Context, job *batch.Job) error {
	_, err := r.plane.Volcano.BatchV1alpha1().Jobs(job.Namespace).Create(ctx, job, metav1.CreateOptions{})
	return err
}

func (r *round) cancel(ctx context.Context, namespace, name string) error {
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background}
	err := r.plane.Volcano.BatchV1alpha1().Jobs(namespace).Delete(ctx, name, options)

	return ignore(apierrors.IsNotFound, err)
}

// resize changes the number of pods of a job. A gang stays a gang.
func (r *round) resize(ctx context.Context, namespace, name string, replicas int32) error {
	jobs := r.plane.Volcano.BatchV1alpha1().Jobs(namespace)
	job, err := jobs.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}

	task := &job.Spec.Tasks[0]
	if job.Spec.MinAvailable == task.Replicas {
		job.Spec.MinAvailable = replicas
	}
	job.Spec.MinAvailable = min(job.Spec.MinAvailable, replicas)
	task.Replicas = replicas
	task.MinAvailable = &job.Spec.MinAvailable
	_, err = jobs.Update(ctx, job, metav1.UpdateOptions{})

	return err
}

// admins edit quotas and the tree, and write wrong annotations for a while, until ctx ends.
func (r *round) admins(ctx context.Context, draw *rand.Rand) error {
	for ctx.Err() == nil {
		pause(ctx, time.Duration(300+draw.IntN(1500))*time.Millisecond)

		name := r.world.queues[draw.IntN(len(r.world.queues))]
		inner := r.world.tree && draw.IntN(4) == 0
		if inner {
			name = r.world.inner[draw.IntN(len(r.world.inner))]
		}

		annotations, spec := r.drawEdit(draw, inner)
		r.acts.Add(1)
		err := r.edit(name, annotations, spec)
		if err != nil {
			return fmt.Errorf("editing queue %s: %w", name, err)
		}
	}

	return nil
}

// drawEdit draws new bounds of a queue, a wrong annotation, or a new parent.
func (r *round) drawEdit(draw *rand.Rand, inner bool) (annotations, spec map[string]any) {
	annotations, spec = r.world.drawBounds(draw, inner)
	switch draw.IntN(12) {
	case 0, 1:
		key := []string{"volcano.sh/card.quota", "volcano.sh/card.deserved", "volcano.sh/card.guarantee"}[draw.IntN(3)]
		return map[string]any{key: badValues[draw.IntN(len(badValues))]}, nil
	case 2:
		if r.world.tree && !inner {
			return nil, map[string]any{"parent": r.world.inner[draw.IntN(len(r.world.inner))]}
		}
	}

	return annotations, spec
}

// bound gives all queues new bounds, which replaces the wrong annotations of admins.
func (r *round) bound(draw *rand.Rand) error {
	for i, name := range append(r.world.inner, r.world.queues...) {
		annotations, spec := r.world.drawBounds(draw, i < len(r.world.inner))
		err := r.edit(name, annotations, spec)
		if err != nil {
			return err
		}
	}

	return nil
}
