package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
	"github.com/capacity-card/capacity-card/e2e/history"
	"github.com/capacity-card/capacity-card/e2e/history/check"
)

const (
	// patience is how long something may take that must happen.
	patience = 60 * time.Second
	// calm is how many cycles pass without a change until a cluster is at rest.
	calm = 30
	// between is the time between two faults: what a decision may not have seen ends in between.
	between = check.Lag + 2*time.Second
)

// Options of a round.
type Options struct {
	Seed   uint64
	Plugin string
	// Length is how long tenants act and faults are injected.
	Length time.Duration
	// Faults are the names of the faults to draw from; nil is all.
	Faults []string
	// Program is the path of vc-scheduler, and Directory where the history is kept. View is that of cardctl, whose
	// pages are attacked, and Volcano that of Volcano's own scheduler: what is "" takes no part.
	Program, Directory, View, Volcano string
	// Webhooks are those of the control plane, nil if it has none.
	Webhooks *Webhooks
	Log      func(format string, arguments ...any)
}

// Result is the findings of a round.
type Result struct {
	*check.Report
	// History is the path of the history.
	History string
	Acts    int64
	Refused int64
	Records int
	Attacks map[string]int // on the pages, by kind
}

// round is one round.
type round struct {
	Options
	plane      *controlplane.ControlPlane
	world      world
	writer     *history.Writer
	recorder   *history.Recorder
	schedulers *schedulers
	view       *view // nil for none
	faultDraw  *rand.Rand
	relabeled  bool // by a fault

	acts, refused atomic.Int64
}

func (r *round) log(format string, arguments ...any) {
	if r.Log != nil {
		r.Log(format, arguments...)
	}
}

// draws returns the sequence of one actor of a seed.
func draws(seed, actor uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, actor)) }

// Run runs a round on a control plane, which it leaves empty.
func Run(ctx context.Context, plane *controlplane.ControlPlane, options Options) (*Result, error) {
	if err := os.MkdirAll(options.Directory, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(options.Directory, fmt.Sprintf("history-%d.json.gz", options.Seed))
	w, err := history.Create(path)
	if err != nil {
		return nil, err
	}
	r := &round{
		Options: options, plane: plane, writer: w, faultDraw: draws(options.Seed, 1),
		world: drawWorld(draws(options.Seed, 0), options.Plugin),
	}
	err = r.record(ctx)
	if err := errors.Join(err, r.clear()); err != nil {
		return nil, fmt.Errorf("%w (history: %s)", err, path)
	}
	records, err := history.Open(path)
	if err != nil {
		return nil, err
	}
	report, err := check.Run(records)
	if err != nil {
		return nil, err
	}
	result := &Result{Report: report, History: path, Acts: r.acts.Load(), Refused: r.refused.Load(), Records: len(records)}
	if r.view != nil {
		result.Attacks = r.view.attacks
	}
	return result, nil
}

// record records the round.
func (r *round) record(ctx context.Context) error {
	client, err := dynamic.NewForConfig(r.plane.RestConfig)
	if err != nil {
		return errors.Join(err, r.writer.Close())
	}
	sources, err := history.Sources(ctx, client)
	if err != nil {
		return errors.Join(err, r.writer.Close())
	}
	r.recorder, err = history.Start(r.writer, sources)
	if err != nil {
		return errors.Join(err, r.writer.Close())
	}
	return errors.Join(r.play(ctx), r.recorder.Stop())
}

// play sets the cluster up, lets everybody act, and brings it to rest.
func (r *round) play(ctx context.Context) (err error) {
	r.log("round %d: %s, tree %t, groups %t", r.Seed, r.world.plugin, r.world.tree, r.world.groups != nil)
	if err := r.set(ctx); err != nil {
		return fmt.Errorf("setting the cluster up: %w", err)
	}
	directory, err := os.MkdirTemp("", "torture-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	r.writer.Mark(check.Configured, "", r.world.stated())
	r.schedulers, err = startSchedulers(r.plane, r.Program, directory, r.world.configuration(), r.writer)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.schedulers.stop()) }()
	if _, err := r.schedulers.awaitLeader(patience); err != nil {
		return err
	}
	if r.View != "" {
		r.view, err = startView(ctx, r.plane, r.View, r.schedulers.file)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.view.stop()) }()
	}
	if err := r.act(ctx); err != nil {
		return err
	}
	if err := r.rest(ctx); err != nil || r.view == nil {
		return err
	}
	if r.world.plugin == "capacity-card" { // which counts cards
		err = r.agrees(ctx, r.view)
	}
	return errors.Join(err, r.view.bounded())
}

// configure writes the configuration of a world.
func (r *round) configure(w world) error {
	r.writer.Mark(check.Configured, "", w.stated())
	return r.schedulers.write(w.configuration())
}

// act has tenants and admins act, attacks the pages, and injects faults, for the length of the round.
func (r *round) act(ctx context.Context) error {
	acting, cancel := context.WithTimeout(ctx, r.Length)
	defer cancel()
	var others errgroup.Group
	others.Go(func() error { r.tenants(acting, draws(r.Seed, 2)); return nil })
	others.Go(func() error { return r.admins(acting, draws(r.Seed, 3)) })
	if r.view != nil {
		others.Go(func() error { return r.view.attacked(acting, draws(r.Seed, 6)) })
	}
	err := r.fail(acting)
	cancel()
	return errors.Join(err, others.Wait())
}

// fail injects one fault after the other.
func (r *round) fail(ctx context.Context) error {
	var some []fault
	for _, f := range faults {
		if can := f.can == nil || f.can(&r.Options); can && (r.Faults == nil && !f.rare || slices.Contains(r.Faults, f.name)) {
			some = append(some, f)
		}
	}
	for len(some) > 0 {
		pause(ctx, between)
		if ctx.Err() != nil {
			return nil
		}
		if err := r.inject(ctx, some[r.faultDraw.IntN(len(some))]); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// rest waits until nothing changes, and notes what the leader measures meanwhile: pods end by themselves at any time.
func (r *round) rest(ctx context.Context) error {
	if err := r.bound(draws(r.Seed, 4)); err != nil {
		return fmt.Errorf("editing the queues: %w", err)
	}
	last := ""
	metrics := ""
	since := 0
	for end := time.Now().Add(patience); time.Now().Before(end); pause(ctx, 100*time.Millisecond) {
		leader, err := r.schedulers.awaitLeader(patience)
		if err != nil {
			return err
		}
		cycles, err := leader.cycles()
		if err != nil {
			last = "" // it ended meanwhile
			continue
		}
		revision, same, err := r.unchanged(ctx, leader, &last)
		if err != nil {
			return err
		}
		if !same {
			since, metrics = cycles, ""
			continue
		}
		if cycles < since+calm {
			continue
		}
		if metrics == "" { // they count if nothing has changed at the next look
			metrics, err = measure(ctx, leader)
			if err != nil {
				return err
			}
			continue
		}
		if behind, err := r.recorder.Behind(ctx, "Node", "Pod", "PodGroup", "Queue"); err != nil {
			return err
		} else if len(behind) > 0 {
			continue
		}
		r.writer.MarkAt(revision, check.Quiet, "", "")
		r.writer.MarkAt(revision, check.Metrics, "", metrics)
		return nil
	}
	return fmt.Errorf("the cluster is not at rest after %s", patience)
}

// unchanged reports whether the leader and all decisions are those of the last call, and keeps them. The decisions are
// those of a revision.
func (r *round) unchanged(ctx context.Context, leader *replica, last *string) (revision int64, same bool, err error) {
	revision, decisions, err := r.decisions(ctx)
	if err != nil {
		return 0, false, err
	}
	decisions = fmt.Sprint(leader.current().PID(), decisions)
	same = decisions == *last
	*last = decisions
	return revision, same, nil
}

// measure returns the metrics of the leader, read several times: a cycle counts what it tries.
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

// decisions has what was decided of each pod and job. Conditions and nominations of pods that wait are left out: those
// of a gang can change in every cycle without an eviction.
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

// set creates the namespaces, nodes and queues.
func (r *round) set(ctx context.Context) error {
	for _, name := range append([]string{controlplane.VolcanoNamespace}, namespaces...) {
		_, err := r.plane.Kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for _, node := range r.world.nodes {
		if _, err := r.plane.Kube.CoreV1().Nodes().Create(ctx, node.DeepCopy(), metav1.CreateOptions{}); err != nil {
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
		if _, err := queues.Create(ctx, newQueue(name, r.world.parents[name]), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := r.bound(draws(r.Seed, 5)); err != nil {
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

// clear deletes what the round created, and waits until it is gone.
func (r *round) clear() error {
	return retry(func(ctx context.Context) error {
		all, now := metav1.ListOptions{}, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
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
		if err := errors.Join(errs...); err != nil || left > 0 {
			return errors.Join(err, fmt.Errorf("%d pods and pod groups are left", left))
		}
		errs = append(errs, r.plane.Kube.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, all))
		for _, name := range append(r.world.queues, r.world.inner...) {
			err := r.plane.Volcano.SchedulingV1beta1().Queues().Delete(ctx, name, metav1.DeleteOptions{})
			if !apierrors.IsNotFound(err) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	})
}
