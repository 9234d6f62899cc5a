package chaos

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
)

// The names of Volcano's vGPU.
const (
	vgpuName     = "volcano.sh/vgpu-number"
	vgpuMemory   = "volcano.sh/vgpu-memory"
	vgpuCores    = "volcano.sh/vgpu-cores"
	vgpuRegister = "volcano.sh/node-vgpu-register"
	vgpuAssigned = "volcano.sh/vgpu-ids-new"
)

// sharedCards are the cards that a node registers.
type sharedCards struct {
	model  string // "" where it registers several models, or nothing that is right
	memory float64
	number int
	mixed  bool // it registers several models
}

func sharedOf(n workload.Node) (s sharedCards) {
	for _, device := range strings.Split(n.Annotations[vgpuRegister], ":") {
		f := strings.Split(device, ",")
		if len(f) != 6 {
			continue
		}
		model := strings.TrimPrefix(f[3], "NVIDIA-")
		s.mixed = s.mixed || s.number > 0 && model != s.model
		s.memory, _ = strconv.ParseFloat(f[2], 64)
		s.model = model
		s.number++
	}
	if s.mixed {
		s.model = ""
	}
	if n.Allocatable[vgpuName] == 0 {
		s.number = 0 // the device plugin does not serve them
	}
	return s
}

// fractionOf returns how much of the shared cards of a node a pod takes, in thousandths.
func (w *chaos) fractionOf(p PodSpec, s sharedCards) float64 {
	memory := part(float64(p.Requests[vgpuMemory]), s.memory)
	if p.Requests[vgpuMemory] == 0 {
		memory = 1000
	}
	if w.Arguments[arguments.Fractions] == "memory" {
		return float64(p.Requests[vgpuName]) * memory
	}
	return float64(p.Requests[vgpuName]) * max(memory, part(float64(p.Requests[vgpuCores]), 100))
}

// part returns x/of in thousandths, rounded down as the documentation says, and at most 1000.
func part(x, of float64) float64 { return min(1000, math.Floor(x*1000/of*(1<<20))/(1<<20)) }

// holdFraction determines how much of a card a pod has on a node.
func (w *chaos) holdFraction(p *Pod, node string, now namedCard, before namedCard, had bool) namedCard {
	now.milli = 1000 * float64(p.Spec.Requests[vgpuName])
	n := w.Nodes[node]
	if n == nil || n.Lost {
		if now.doubt = true; had {
			now.milli = before.milli
		}
		return now
	}
	s := sharedOf(n.Spec)
	if s.model != "" {
		now.milli = w.fractionOf(p.Spec, s)
	}
	now.doubt = now.doubt || s.mixed || w.otherwiseAssigned(p)
	return now
}

// otherwiseAssigned reports whether a pod has other devices than it requests: somebody edited the annotation.
func (w *chaos) otherwiseAssigned(p *Pod) bool {
	if p.Object == nil || p.Object.Annotations[vgpuAssigned] == "" {
		return false
	}
	each := fmt.Sprintf(",NVIDIA,%d,%d:", p.Spec.Requests[vgpuMemory], p.Spec.Requests[vgpuCores])
	return int64(strings.Count(p.Object.Annotations[vgpuAssigned], each)) != p.Spec.Requests[vgpuName]
}

// share draws nodes that share cards, and pods with fractions of them.
func (d *draw) share() {
	if d.plain || !d.chance(25) {
		return
	}
	if d.chance(50) {
		d.s.Arguments[arguments.Fractions] = pick(d, values[arguments.Fractions]...)
	}
	for i := range 1 + d.IntN(2) {
		name := fmt.Sprintf("s%d", i)
		d.do(1, SetNode{Node: d.sharing(name)})
		if d.chance(20) {
			d.do(1+d.IntN(chaosCycles), SetNode{Node: d.sharing(name)})
		}
		if d.chance(20) {
			d.do(1+d.IntN(chaosCycles), LoseNode{Node: name})
		}
	}
	for i := range 1 + d.IntN(5) {
		j := JobSpec{Name: fmt.Sprintf("f%d", i), Queue: d.queues[d.IntN(len(d.queues))].Name}
		p := PodSpec{Cards: pick(d, "A", "A", "B", "A|B", ""), Requests: workload.Resources{vgpuName: pick[int64](d, 1, 1, 2),
			vgpuMemory: pick[int64](d, 1000, 2000, 3000, 4000)}}
		if d.chance(40) {
			p.Requests[vgpuCores] = pick[int64](d, 10, 50, 100)
		}
		for range 1 + d.IntN(4) {
			j.Pods = append(j.Pods, p)
		}
		j.MinMember = pick(d, 1, len(j.Pods))
		d.do(1+d.IntN(chaosCycles), SubmitJob{JobSpec: j})
	}
	slices.SortStableFunc(d.s.Acts, func(x, y Act) int { return cmp.Compare(x.Cycle, y.Cycle) })
}

// sharing draws a node that shares cards of one model.
func (d *draw) sharing(name string) workload.Node {
	n, memory, model := 1+d.IntN(3), pick(d, 4000, 7000, 8000), pick(d, "A", "A", "B")
	var registered []string
	for i := range n {
		registered = append(registered, fmt.Sprintf("%s-%s-%d,10,%d,NVIDIA-%s,true,hami-core:", name, model, i, memory, model))
	}
	return workload.Node{Name: name, Annotations: map[string]string{vgpuRegister: strings.Join(registered, "")},
		Allocatable: workload.Resources{"cpu": 64000, "memory": 256 << 30, "pods": 100, vgpuName: int64(10 * n),
			vgpuMemory: int64(n * memory), vgpuCores: int64(100 * n)}}
}
