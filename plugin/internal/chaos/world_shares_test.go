package chaos

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
)

// vgpu is Volcano's way to share cards.
var vgpu = card.Sharings[0]

// containersPerCard is how many containers may share a card.
const containersPerCard = 10

// shares reads cards that are shared, such as A:2x8192,B:1x4096: two of the model A, with a memory of 8192.
func (w *words) shares(n *workload.Node, allocatable workload.Resources, text string) {
	names, values, err := pairs(text)
	if err != nil {
		w.fail("%v", err)
	}
	var registered strings.Builder
	for i, model := range names {
		number, size, _ := strings.Cut(values[i], "x")
		cards, memory := w.number(number), w.number(size)
		for each := range cards {
			fmt.Fprintf(&registered, "%s-%s-%d,%d,%d,NVIDIA-%s,true,hami-core:",
				n.Name, model, each, containersPerCard, memory, model)
		}

		allocatable[string(vgpu.Number)] += cards * containersPerCard
		allocatable[string(vgpu.Memory)] += cards * memory
		allocatable[string(vgpu.Cores)] += cards * 100
	}

	n.Annotations = map[string]string{vgpu.Register: registered.String()}
}

// assign gives a pod the first cards of its node that have room, as Volcano's plugin deviceshare does.
func (w *World) assign(p *Pod) {
	var fraction *card.Fraction
	for _, f := range card.Fractions(p.Object) {
		if f.Number == vgpu.Number {
			fraction = f
		}
	}

	n := w.Nodes[p.Object.Spec.NodeName]
	if fraction == nil || n == nil {
		return
	}

	devices := card.OnNode(n.Object, nil).Devices
	memory, cores := map[string]int64{}, map[string]int64{}
	w.eachAssigned(n, func(a card.Assignment) {
		memory[a.UUID] += a.Memory
		cores[a.UUID] += a.Cores
	})
	var text strings.Builder
	for _, part := range fraction.Parts {
		left := part.Count
		if part.Init || part.Sidecar {
			continue
		}
		for _, d := range devices {
			need := part.Memory
			if part.Percent > 0 {
				need = int64(d.Memory) * part.Percent / 100
			}
			if left == 0 || memory[d.UUID]+need > int64(d.Memory) || cores[d.UUID]+part.Cores > 100 {
				continue
			}
			memory[d.UUID] += need
			cores[d.UUID] += part.Cores
			fmt.Fprintf(&text, "%s,NVIDIA,%d,%d:", d.UUID, need, part.Cores)
			left--
		}
		if left > 0 {
			return // deviceshare would have refused the node
		}
		text.WriteString(";")
	}

	p.update(func(pod *v1.Pod) { pod.Annotations[vgpu.Assigned] = strings.TrimSuffix(text.String(), ";") })
}

// eachAssigned visits the shares that were assigned to the pods of a node.
func (w *World) eachAssigned(n *Node, visit func(card.Assignment)) {
	for _, j := range w.Jobs {
		for _, p := range j.All() {
			if p.Object.Spec.NodeName != n.Spec.Name || p.Finished() {
				continue
			}
			for _, f := range card.Fractions(p.Object) {
				for _, a := range f.Assigned {
					visit(a)
				}
			}
		}
	}
}
