package chaos

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/bench/cluster"
)

func (d SetNode) apply(w *World) {
	if pool := w.Pools[d.Name]; pool != nil && w.Nodes[d.Name] != nil && w.Nodes[d.Name].Lost {
		pool.publish(d.Name, pool.Cards, false) // the driver starts again
	}
	w.Nodes[d.Name] = &Node{Spec: d.Node, Object: cluster.Node(d.Node)}
	_ = w.informers.Core().V1().Nodes().Informer().GetStore().Add(w.Nodes[d.Name].Object)
}

func (d RemakeNode) apply(w *World) {
	n := w.Nodes[d.Node]
	if n == nil {
		return
	}

	SetNode{n.Spec}.apply(w)
	w.Nodes[d.Node].Object.UID = w.uid(d.Node)

	if w.forgotten == nil {
		w.forgotten = map[*v1.Pod]struct{}{}
	}

	for _, j := range w.Jobs {
		for _, p := range j.All() {
			if p.Object.Spec.NodeName == d.Node && !p.Finished() {
				w.forgotten[p.Object] = struct{}{}
			}
		}
	}
}

func (d LoseNode) apply(w *World) {
	if n := w.Nodes[d.Node]; n != nil {
		n.Lost = true
		if pool := w.Pools[d.Node]; pool != nil {
			pool.slices = nil // deleted with their owner
		}
		_ = w.informers.Core().V1().Nodes().Informer().GetStore().Delete(n.Object)
	}
}

func (d ReplacePods) apply(w *World) {
	if n := w.Nodes[d.Node]; n == nil || !n.Lost {
		return
	}

	for _, j := range w.Jobs {
		j.Leaving = slices.DeleteFunc(j.Leaving, func(p *Pod) bool { return p.Object.Spec.NodeName == d.Node })
		for i, p := range j.Pods {
			if p.Object.Spec.NodeName == d.Node && !p.Finished() {
				j.replace(w, i)
			}
		}
	}
}

func (Restart) apply(w *World) {
	w.restarted = true
	if w.OnRestart != nil {
		w.OnRestart()
	}
}

func (d Leave) apply(w *World) { w.Away = d.Cycles }

func (Renew) apply(w *World) {
	for _, n := range w.Nodes {
		if !n.Lost {
			n.Object = n.Object.DeepCopy()
			_ = w.informers.Core().V1().Nodes().Informer().GetStore().Update(n.Object)
		}
	}

	for _, q := range w.Queues {
		q.Object = q.Object.DeepCopy()
	}
}

func (d Wait) apply(w *World) { w.waited += d.Time }
