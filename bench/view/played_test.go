package view

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"volcano.sh/apis/pkg/apis/scheduling/scheme"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
)

// played is a simulated API server with one cluster. It lists objects, and sends changes of pods to
// its watchers.
type played struct {
	lists   map[string][]any // by resource
	pods    []*v1.Pod
	changes *watch.Broadcaster
	version int
}

// kinds are the versions and kinds of the lists.
var kinds = map[string][2]string{
	"nodes":           {"v1", "Node"},
	"pods":            {"v1", "Pod"},
	"priorityclasses": {"scheduling.k8s.io/v1", "PriorityClass"},
	"queues":          {"scheduling.volcano.sh/v1beta1", "Queue"},
	"podgroups":       {"scheduling.volcano.sh/v1beta1", "PodGroup"},
	"jobs":            {"batch.volcano.sh/v1alpha1", "Job"},
}

func newCluster(c workload.Cluster) (*played, error) {
	p := &played{lists: map[string][]any{"jobs": {}, "priorityclasses": {}}, version: 1}
	p.changes = watch.NewBroadcaster(100, watch.WaitIfChannelFull)
	for _, n := range c.Nodes {
		p.lists["nodes"] = append(p.lists["nodes"], cluster.Node(n))
	}

	for _, q := range c.Queues {
		queue := &v1beta1.Queue{}
		if err := scheme.Scheme.Convert(cluster.Queue(q, ""), queue, nil); err != nil {
			return nil, err
		}
		p.lists["queues"] = append(p.lists["queues"], queue)
	}

	for _, j := range c.Jobs {
		group := &v1beta1.PodGroup{}
		internal := cluster.PodGroup(j).PodGroup
		if err := scheme.Scheme.Convert(&internal, group, nil); err != nil {
			return nil, err
		}
		p.lists["podgroups"] = append(p.lists["podgroups"], group)

		for _, t := range j.Tasks {
			pod := cluster.Pod(j.Name, t)
			pod.Spec.SchedulerName = "volcano"
			if t.Node != "" {
				pod.Status.Phase = v1.PodRunning
			}
			p.pods = append(p.pods, pod)
			p.lists["pods"] = append(p.lists["pods"], pod)
		}
	}
	return p, nil
}

func (p *played) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	resource := path.Base(r.URL.Path)
	kind, known := kinds[resource]

	switch {
	case !known:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	case r.URL.Query().Get("watch") != "":
		p.watch(w, r, resource == "pods")
	default:
		// An error means that the client is gone.
		_ = json.NewEncoder(w).Encode(map[string]any{
			"kind":       kind[1] + "List",
			"apiVersion": kind[0],
			"metadata":   map[string]string{"resourceVersion": "1"},
			"items":      p.lists[resource],
		})
	}
}

// watch sends changes until the client is gone.
func (p *played) watch(w http.ResponseWriter, r *http.Request, pods bool) {
	var events <-chan watch.Event
	if pods {
		watcher, err := p.changes.Watch()
		if err != nil {
			return // the measurement is over
		}
		defer watcher.Stop()
		events = watcher.ResultChan()
	}

	_ = http.NewResponseController(w).Flush()

	for {
		select {
		case <-r.Context().Done():
			return
		case event := <-events:
			object := runtime.RawExtension{Object: event.Object}
			_ = json.NewEncoder(w).Encode(metav1.WatchEvent{Type: string(event.Type), Object: object})
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// change changes a pod every second.
func (p *played) change(ctx context.Context) {
	wait.UntilWithContext(ctx, func(context.Context) {
		p.version++
		pod := p.pods[p.version*997%len(p.pods)].DeepCopy()
		pod.Kind = "Pod"
		pod.APIVersion = "v1"
		pod.ResourceVersion = strconv.Itoa(p.version)
		pod.Labels = map[string]string{"changed": pod.ResourceVersion}
		_ = p.changes.Action(watch.Modified, pod) // nobody shuts it down
	}, time.Second)
}
