package torture

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/e2e/history/check"
)

// rest waits until nothing changes, and records the metrics of the leader. The loop checks again after the metrics are
// read, because pods can end at any time.
func (r *round) rest(ctx context.Context) error {
	err := r.bound(draws(r.Seed, 4))
	if err != nil {
		return fmt.Errorf("editing the queues: %w", err)
	}

	last := ""
	metrics := ""
	since := 0 // the cycle of the last change
	for end := time.Now().Add(patience); time.Now().Before(end); pause(ctx, 100*time.Millisecond) {
		leader, err := r.schedulers.awaitLeader(patience)
		if err != nil {
			return err
		}

		cycles, err := leader.cycles()
		if err != nil {
			last = "" // the leader ended meanwhile
			continue
		}

		revision, decisions, err := r.decisions(ctx)
		if err != nil {
			return err
		}

		state := fmt.Sprint(leader.current().PID(), decisions)
		if state != last {
			last = state
			since = cycles
			metrics = ""
			continue
		}
		if cycles < since+calm {
			continue
		}

		if metrics == "" {
			metrics, err = measure(ctx, leader)
			if err != nil {
				return err
			}
			continue
		}

		behind, err := r.recorder.Behind(ctx, "Node", "Pod", "PodGroup", "Queue")
		if err != nil {
			return err
		}
		if len(behind) > 0 {
			continue
		}

		r.writer.MarkAt(revision, check.Quiet, "", "")
		r.writer.MarkAt(revision, check.Metrics, "", metrics)
		return nil
	}

	return fmt.Errorf("the cluster is not at rest after %s", patience)
}

// measure reads the metrics of the leader several times, because a cycle also counts allocations that it only tries.
func measure(ctx context.Context, leader *replica) (string, error) {
	var all strings.Builder
	for range 20 {
		text, err := leader.metrics()
		if err != nil {
			return "", err
		}

		all.WriteString(text)
		pause(ctx, 50*time.Millisecond)
	}

	return all.String(), nil
}

// decisions returns the decisions on each pod and job, and their revision. It leaves out conditions and nominations of
// waiting pods. For a gang, they can change in every cycle without an eviction.
func (r *round) decisions(ctx context.Context) (revision int64, decisions string, err error) {
	pods, err := r.plane.Kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, "", err
	}

	revision, err = strconv.ParseInt(pods.ResourceVersion, 10, 64)
	if err != nil {
		return 0, "", err
	}

	groups, err := r.plane.Volcano.SchedulingV1beta1().PodGroups("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, "", err
	}

	var all strings.Builder
	for i := range pods.Items {
		pod := &pods.Items[i]
		fmt.Fprintln(&all, pod.UID, pod.Spec.NodeName, pod.Status.Phase, pod.DeletionTimestamp)
	}
	for i := range groups.Items {
		fmt.Fprintln(&all, groups.Items[i].UID, groups.Items[i].Status.Phase)
	}

	return revision, all.String(), nil
}
