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

// rest waits until nothing changes, and records the metrics of the leader. It looks again after the metrics are read,
// because pods can end at any time.
func (r *round) rest(ctx context.Context) error {
	err := r.bound(draws(r.Seed, 4))
	if err != nil {
		return fmt.Errorf("editing the queues: %w", err)
	}

	var seen observation
	for end := time.Now().Add(patience); time.Now().Before(end); pause(ctx, 100*time.Millisecond) {
		leader, err := r.schedulers.awaitLeader(patience)
		if err != nil {
			return err
		}
		cycles, err := leader.cycles()
		if err != nil {
			seen.state = "" // the leader ended meanwhile
			continue
		}

		done, err := r.observe(ctx, leader, cycles, &seen)
		if err != nil || done {
			return err
		}
	}

	return fmt.Errorf("the cluster is not at rest after %s", patience)
}

// observation is the state of a cluster that may be at rest.
type observation struct {
	state   string // the leader and all decisions
	since   int    // the cycle of the last change of state
	metrics string // since then, "" if they are not read yet
}

// observe looks at the cluster once. When it is at rest, observe marks this in the history and reports true.
func (r *round) observe(ctx context.Context, leader *replica, cycles int, seen *observation) (bool, error) {
	revision, decisions, err := r.decisions(ctx)
	if err != nil {
		return false, err
	}

	state := fmt.Sprint(leader.current().PID(), decisions)
	if state != seen.state {
		*seen = observation{state: state, since: cycles}
		return false, nil
	}
	if cycles < seen.since+calm {
		return false, nil
	}
	if seen.metrics == "" {
		seen.metrics, err = measure(ctx, leader)
		return false, err
	}

	behind, err := r.recorder.Behind(ctx, "Node", "Pod", "PodGroup", "Queue")
	if err != nil || len(behind) > 0 {
		return false, err
	}

	r.writer.MarkAt(revision, check.Quiet, "", "")
	r.writer.MarkAt(revision, check.Metrics, "", seen.metrics)

	return true, nil
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
