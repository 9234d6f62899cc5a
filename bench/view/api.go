package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/scheme"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
)

// played is an API server with one cluster. It lists objects, and sends changes of pods to
// those who watch.
type played struct {
	lists map[string][]any // by resource
	pods  []*v1.Pod

	mu       sync.Mutex
	version  int
	watchers map[chan []byte]bool
}

// kinds are the kinds of the lists.
var kinds = map[string]string{
	"nodes": "v1 Node", "pods": "v1 Pod", "queues": "scheduling.volcano.sh/v1beta1 Queue", "podgroups": "scheduling.volcano.sh/v1beta1 PodGroup",
	"jobs": "batch.volcano.sh/v1alpha1 Job", "priorityclasses": "scheduling.k8s.io/v1 PriorityClass",
}

func newCluster(of workload.Cluster) (*played, error) {
	p := &played{lists: map[string][]any{}, version: 1, watchers: map[chan []byte]bool{}}
	for _, n := range of.Nodes {
		p.lists["nodes"] = append(p.lists["nodes"], cluster.Node(n))
	}
	for _, q := range of.Queues {
		queue := &v1beta1.Queue{}
		if err := scheme.Scheme.Convert(cluster.Queue(q, ""), queue, nil); err != nil {
			return nil, err
		}
		p.lists["queues"] = append(p.lists["queues"], queue)
	}
	for _, j := range of.Jobs {
		group := &v1beta1.PodGroup{}
		internal := cluster.PodGroup(j).PodGroup
		if err := convert(&internal, group); err != nil {
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

func convert(from *scheduling.PodGroup, to runtime.Object) error {
	return scheme.Scheme.Convert(from, to, nil)
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
		var version, name string
		_, _ = fmt.Sscan(kind, &version, &name) // two words
		items := p.lists[resource]
		if items == nil {
			items = []any{}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{ // the client is gone
			"kind": name + "List", "apiVersion": version, "metadata": map[string]string{"resourceVersion": "1"}, "items": items,
		})
	}
}

// watch sends changes until the client is gone.
func (p *played) watch(w http.ResponseWriter, r *http.Request, pods bool) {
	events := make(chan []byte, 100)
	if pods {
		p.mu.Lock()
		p.watchers[events] = true
		p.mu.Unlock()
	}
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case event := <-events:
			_, _ = w.Write(event)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// change changes a pod every second.
func (p *played) change(ctx context.Context) {
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		pod := p.pods[i*997%len(p.pods)].DeepCopy()
		p.mu.Lock()
		p.version++
		pod.Kind, pod.APIVersion, pod.ResourceVersion = "Pod", "v1", strconv.Itoa(p.version)
		pod.Labels = map[string]string{"changed": strconv.Itoa(p.version)}
		event, err := json.Marshal(map[string]any{"type": "MODIFIED", "object": pod})
		if err == nil {
			for watcher := range p.watchers {
				watcher <- event
			}
		}
		p.mu.Unlock()
	}
}
