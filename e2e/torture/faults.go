package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
	"github.com/capacity-card/capacity-card/e2e/history/check"
)

// fault is one way in which something fails. It returns when that is over.
type fault struct {
	name string
	// blind faults keep the scheduler from seeing or doing something in time. The others are changes that it sees.
	blind bool
	// rare faults are injected only if they are named: what else runs in this process takes minutes to go on after them.
	rare   bool
	inject func(*round, context.Context) error
	// can reports whether the round has what the fault needs, nil for nothing.
	can func(*Options) bool
}

var faults = []fault{
	{"kill", true, false, (*round).killLeader, nil},
	{"kill-both", true, false, (*round).killBoth, nil},
	{"pause", true, false, (*round).pauseLeader, nil},
	{"cut", true, false, (*round).cutLeader, nil},
	{"cut-watches", true, false, (*round).cutWatches, nil},
	{"slow", true, false, (*round).slow, nil},
	{"errors", true, false, (*round).answerErrors, nil},
	{"lost", true, false, (*round).loseAnswers, nil},
	{"apiserver", true, true, (*round).restartAPIServer, nil},
	{"reload", true, false, (*round).reload, nil},
	{"rollback", true, false, (*round).rollBack, func(o *Options) bool { return o.Volcano != "" }},
	{"disk-full", true, false, (*round).fillDisk, nil},
	{"webhooks", false, false, (*round).loseWebhooks, func(o *Options) bool { return o.Webhooks != nil }},
	{"node-flaps", false, false, (*round).flapNode, nil},
	{"node-labels", false, false, (*round).relabelNode, nil},
	{"node-shrinks", false, false, (*round).shrinkNode, nil},
	{"node-anew", false, false, (*round).renewNode, nil},
	{"node-partitions", false, false, (*round).partitionNode, nil},
}

// inject injects a fault and marks it.
func (r *round) inject(ctx context.Context, f fault) error {
	r.log("fault %s", f.name)
	begin, end := check.Note, ""
	if f.blind {
		begin, end = check.Fault, check.FaultEnds
	}
	r.writer.Mark(begin, f.name, "")
	err := f.inject(r, ctx)
	if end != "" {
		r.writer.Mark(end, f.name, "")
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("fault %s: %w", f.name, err)
	}
	return nil
}

// pause waits, unless the round ends first.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (r *round) killLeader(context.Context) error {
	leader, err := r.schedulers.awaitLeader(patience)
	if err != nil {
		return err
	}
	if err := leader.current().Kill(); err != nil {
		return err
	}
	_, err = r.schedulers.awaitLeader(patience)
	return err
}

func (r *round) killBoth(context.Context) error {
	for _, each := range r.schedulers.replicas {
		if err := each.current().Kill(); err != nil {
			return err
		}
	}
	_, err := r.schedulers.awaitLeader(patience)
	return err
}

// pauseLeader stops the leader for longer than its lease. It goes on where it was, until it notices.
func (r *round) pauseLeader(ctx context.Context) error {
	leader, err := r.schedulers.awaitLeader(patience)
	if err != nil {
		return err
	}
	process := leader.current()
	if err := process.Pause(); err != nil {
		return err
	}
	pause(ctx, lease+2*time.Second)
	r.writer.Mark(check.Fenced, leader.name, "")
	defer r.writer.Mark(check.FenceEnds, leader.name, "")
	if err := process.Continue(); err != nil {
		return err
	}
	select {
	case <-process.Exited():
	case <-time.After(patience):
		return fmt.Errorf("%s lost its lease, and goes on", leader.name)
	}
	_, err = r.schedulers.awaitLeader(patience)
	return err
}

// cutLeader takes the API server away from the leader, so long that it gives up.
func (r *round) cutLeader(ctx context.Context) error {
	leader, err := r.schedulers.awaitLeader(patience)
	if err != nil {
		return err
	}
	process := leader.current()
	leader.proxy.Cut()
	select {
	case <-process.Exited():
	case <-time.After(patience):
		err = fmt.Errorf("%s cannot renew its lease, and goes on", leader.name)
	}
	leader.proxy.Mend()
	if err != nil {
		return err
	}
	_, err = r.schedulers.awaitLeader(patience)
	return err
}

// cutWatches ends all connections of the schedulers, some times.
func (r *round) cutWatches(ctx context.Context) error {
	for range 5 {
		r.each(func(p *controlplane.Proxy) {
			p.Cut()
			p.Mend()
		})
		pause(ctx, 300*time.Millisecond)
	}
	return nil
}

func (r *round) each(do func(*controlplane.Proxy)) {
	for _, each := range r.schedulers.replicas {
		do(each.proxy)
	}
}

// interfere has the proxies interfere for some time.
func (r *round) interfere(ctx context.Context, with func(*http.Request) controlplane.Interference) error {
	r.each(func(p *controlplane.Proxy) { p.Interfere(with) })
	pause(ctx, 3*time.Second)
	r.each(func(p *controlplane.Proxy) { p.Interfere(nil) })
	_, err := r.schedulers.awaitLeader(patience)
	return err
}

func (r *round) slow(ctx context.Context) error {
	return r.interfere(ctx, func(*http.Request) controlplane.Interference {
		return controlplane.Interference{Delay: time.Duration(rand.IntN(800)) * time.Millisecond}
	})
}

// answerErrors has three in ten requests fail: too many, an error, or a conflict where something is written.
func (r *round) answerErrors(ctx context.Context) error {
	return r.interfere(ctx, func(request *http.Request) controlplane.Interference {
		statuses := []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}
		if writes(request) {
			statuses = append(statuses, http.StatusConflict)
		}
		if rand.IntN(10) >= 3 {
			return controlplane.Interference{}
		}
		return controlplane.Interference{Status: statuses[rand.IntN(len(statuses))]}
	})
}

// loseAnswers has the API server do what is asked, and the scheduler not learn of it.
func (r *round) loseAnswers(ctx context.Context) error {
	return r.interfere(ctx, func(request *http.Request) controlplane.Interference {
		return controlplane.Interference{Lost: writes(request) && !strings.Contains(request.URL.Path, "/leases/") && rand.IntN(10) < 3}
	})
}

func writes(request *http.Request) bool { return request.Method != http.MethodGet }

func (r *round) restartAPIServer(context.Context) error {
	if err := r.plane.RestartAPIServer(); err != nil {
		return err
	}
	_, err := r.schedulers.awaitLeader(patience)
	return err
}

// reload schedules with another plugin for a while.
func (r *round) reload(ctx context.Context) error {
	other := r.world
	other.plugin = "capacity"
	if err := r.configure(other); err != nil {
		return err
	}
	pause(ctx, 4*time.Second)
	return r.configure(r.world)
}

// rollBack schedules with Volcano's own scheduler for a while.
func (r *round) rollBack(ctx context.Context) error {
	other := r.world
	other.plugin = "capacity"
	r.writer.Mark(check.Replaced, "", "")
	defer r.writer.Mark(check.ReplacedEnds, "", "")
	if err := r.replace(r.Volcano, other); err != nil {
		return err
	}
	pause(ctx, 4*time.Second)
	return r.replace(r.Program, r.world)
}

// replace ends both schedulers, and starts those of a program and a configuration in their place.
func (r *round) replace(program string, w world) error {
	r.schedulers.runs(program)
	if err := r.configure(w); err != nil {
		return err
	}
	return r.killBoth(context.Background())
}

// fillDisk has etcd store nothing for a while.
func (r *round) fillDisk(ctx context.Context) error {
	if err := r.plane.FillDisk(context.Background()); err != nil {
		return err
	}
	pause(ctx, 3*time.Second)
	if err := r.plane.FreeDisk(context.Background()); err != nil {
		return err
	}
	_, err := r.schedulers.awaitLeader(patience)
	return err
}

// Webhooks are Volcano's: a program and the process that runs it.
type Webhooks struct {
	Program string
	Process *controlplane.Process
}

// loseWebhooks takes Volcano's webhooks away for a while: nobody can create a job or a pod.
func (r *round) loseWebhooks(ctx context.Context) (err error) {
	if err := r.Webhooks.Process.Kill(); err != nil {
		return err
	}
	pause(ctx, 3*time.Second)
	r.Webhooks.Process, err = r.plane.StartWebhooks(context.Background(), r.Webhooks.Program)
	return err
}

// pick is a node of the cluster.
func (r *round) pick() *corev1.Node {
	return r.world.nodes[r.faultDraw.IntN(len(r.world.nodes))].DeepCopy()
}

// patchNode changes a node, and changes it back after a while.
func (r *round) patchNode(ctx context.Context, change, back func(*corev1.Node)) error {
	name := r.pick().Name
	if err := r.updateNode(name, change); err != nil {
		return err
	}
	pause(ctx, 3*time.Second)
	return r.updateNode(name, back)
}

func (r *round) updateNode(name string, change func(*corev1.Node)) error {
	return retry(func(ctx context.Context) error {
		nodes := r.plane.Kube.CoreV1().Nodes()
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(node)
		status := node.Status
		if node, err = nodes.Update(ctx, node, metav1.UpdateOptions{}); err != nil {
			return err
		}
		node.Status = status
		_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

func (r *round) flapNode(ctx context.Context) error {
	ready := func(status corev1.ConditionStatus) func(*corev1.Node) {
		return func(node *corev1.Node) {
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
		}
	}
	return r.patchNode(ctx, ready(corev1.ConditionFalse), ready(corev1.ConditionTrue))
}

// relabelNode takes the label of a node's cards away, or gives it another one.
func (r *round) relabelNode(ctx context.Context) error {
	r.relabeled = true
	was := ""
	other := []string{"", h200, h800}[r.faultDraw.IntN(3)]
	return r.patchNode(ctx, func(node *corev1.Node) {
		if was == "" {
			was = node.Labels[product]
		}
		if delete(node.Labels, product); other != "" {
			node.Labels[product] = other
		}
	}, func(node *corev1.Node) { node.Labels[product] = was })
}

// shrinkNode has a node with fewer cards for a while.
func (r *round) shrinkNode(ctx context.Context) error {
	var was corev1.ResourceList
	return r.patchNode(ctx, func(node *corev1.Node) {
		if was == nil {
			was = node.Status.Allocatable.DeepCopy()
		}
		node.Status.Allocatable[gpu] = quantity(1)
	}, func(node *corev1.Node) { node.Status.Allocatable = was })
}

// partitionNode drains a node, and divides its cards into slices for a while.
func (r *round) partitionNode(ctx context.Context) error {
	name := r.pick().Name
	var was corev1.ResourceList
	drained := func(change func(*corev1.Node)) error {
		if err := r.updateNode(name, func(node *corev1.Node) { node.Spec.Unschedulable = true }); err != nil {
			return err
		}
		pause(ctx, time.Second) // what is being bound is bound
		if err := r.collectPods(name); err != nil {
			return err
		}
		return r.updateNode(name, func(node *corev1.Node) {
			change(node)
			node.Spec.Unschedulable = false
		})
	}
	err := drained(func(node *corev1.Node) {
		if was == nil {
			was = node.Status.Allocatable.DeepCopy()
		}
		cards := node.Status.Allocatable[gpu]
		delete(node.Status.Allocatable, gpu)
		node.Status.Allocatable[slice] = quantity(2 * cards.Value())
	})
	if err != nil {
		return err
	}
	pause(ctx, 4*time.Second)
	return drained(func(node *corev1.Node) { node.Status.Allocatable = was })
}

// renewNode deletes a node, and makes it anew under its name. Its pods are deleted or stay.
func (r *round) renewNode(ctx context.Context) error {
	node, collect := r.pick(), r.faultDraw.IntN(2) == 0
	if err := retry(func(ctx context.Context) error {
		return r.plane.Kube.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{})
	}); err != nil {
		return err
	}
	pause(ctx, time.Second)
	if collect {
		if err := r.collectPods(node.Name); err != nil {
			return err
		}
	}
	return retry(func(ctx context.Context) error {
		_, err := r.plane.Kube.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// collectPods deletes the pods of a node, as Kubernetes does when the node is gone.
func (r *round) collectPods(node string) error {
	return retry(func(ctx context.Context) error {
		pods, err := r.plane.Kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		if err != nil {
			return err
		}
		for _, pod := range pods.Items {
			now := int64(0)
			err := r.plane.Kube.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return nil
	})
}

// retry asks the API server until it answers.
func retry(ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || ctx.Err() != nil {
			return err
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// edit changes annotations and the spec of a queue. A webhook may refuse that, as it may refuse an admin.
func (r *round) edit(queue string, annotations, spec map[string]any) error {
	change := map[string]any{}
	if annotations != nil {
		change["metadata"] = map[string]any{"annotations": annotations}
	}
	if spec != nil {
		change["spec"] = spec
	}
	patch, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return retry(func(ctx context.Context) error {
		_, err := r.plane.Volcano.SchedulingV1beta1().Queues().Patch(ctx, queue, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && strings.Contains(err.Error(), "denied the request") {
			r.refused.Add(1)
			return nil
		}
		return err
	})
}
