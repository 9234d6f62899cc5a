package torture

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// set creates the namespaces, nodes and queues.
func (r *round) set(ctx context.Context) error {
	for _, name := range append([]string{controlplane.VolcanoNamespace}, namespaces...) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := r.plane.Kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for _, node := range r.world.nodes {
		_, err := r.plane.Kube.CoreV1().Nodes().Create(ctx, node.DeepCopy(), metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}

	queues := r.plane.Volcano.SchedulingV1beta1().Queues()
	if r.world.tree {
		_, err := queues.Create(ctx, newQueue("root", ""), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for _, name := range append(r.world.inner, r.world.queues...) {
		_, err := queues.Create(ctx, newQueue(name, r.world.parents[name]), metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}

	err := r.bound(draws(r.Seed, 5))
	if err != nil {
		return err
	}

	return r.awaitOpen(ctx)
}

// awaitOpen waits until the queues take jobs.
func (r *round) awaitOpen(ctx context.Context) error {
	for end := time.Now().Add(patience); time.Now().Before(end); pause(ctx, 50*time.Millisecond) {
		list, err := r.plane.Volcano.SchedulingV1beta1().Queues().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}

		open := 0
		for i := range list.Items {
			if list.Items[i].Status.State == scheduling.QueueStateOpen {
				open++
			}
		}
		if open >= len(r.world.queues)+len(r.world.inner) {
			return nil
		}
	}

	return fmt.Errorf("the queues are not open after %s", patience)
}

// clear deletes the objects of the round, and waits until they are gone.
func (r *round) clear() error {
	return retry(func(ctx context.Context) error {
		err := r.clearJobs(ctx)
		if err != nil {
			return err
		}

		nodes := r.plane.Kube.CoreV1().Nodes()
		errs := []error{nodes.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})}
		for _, name := range append(r.world.queues, r.world.inner...) {
			err := r.plane.Volcano.SchedulingV1beta1().Queues().Delete(ctx, name, metav1.DeleteOptions{})
			errs = append(errs, ignore(apierrors.IsNotFound, err))
		}

		return errors.Join(errs...)
	})
}

// clearJobs deletes jobs and pods. It fails while some are left.
func (r *round) clearJobs(ctx context.Context) error {
	all := metav1.ListOptions{}
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	background := metav1.DeletePropagationBackground
	var errs []error
	left := 0
	for _, namespace := range namespaces {
		jobs := r.plane.Volcano.BatchV1alpha1().Jobs(namespace)
		errs = append(errs, jobs.DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, all))
		errs = append(errs, r.plane.Kube.CoreV1().Pods(namespace).DeleteCollection(ctx, now, all))

		pods, err := r.plane.Kube.CoreV1().Pods(namespace).List(ctx, all)
		errs = append(errs, err)
		if err == nil {
			left += len(pods.Items)
		}
		groups, err := r.plane.Volcano.SchedulingV1beta1().PodGroups(namespace).List(ctx, all)
		errs = append(errs, err)
		if err == nil {
			left += len(groups.Items)
		}
	}

	err := errors.Join(errs...)
	if err != nil || left > 0 {
		return errors.Join(err, fmt.Errorf("%d pods and pod groups are left", left))
	}

	return nil
}
