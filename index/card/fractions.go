package card

import (
	"cmp"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// A fraction is a part of a card: some of its memory, and some of its cores. Nodes register their cards
// with the memory of each (Register), pods request memory and cores, and the scheduler's plugin for
// devices writes to the pod which cards it got (Assigned).
//
// A fraction is charged to the account of its card:
//
//	Σ over devices of max(memory / memory of the device, cores / cores of the device)
//
// in milli-cards, each quotient rounded down to a multiple of 2^-20. So sums are exact, and seven
// sevenths fit into one card.

// Sharing is a way to share cards: the annotations and resources of a device plugin.
type Sharing struct {
	Register string // annotation of nodes: the devices
	Assigned string // annotation of pods: the devices that a pod got

	Number     v1.ResourceName // devices of a container, each with the rest
	Memory     v1.ResourceName // of each device, in the unit in which the node registers it
	Percentage v1.ResourceName // of the memory of each device
	Cores      v1.ResourceName // of each device, in percent

	// always: a pod without Memory, Percentage and Cores has a fraction too, because Number is no resource
	// of whole cards.
	always bool
}

// Sharings are the known ways to share cards.
//
// Source: volcano.sh/volcano, pkg/scheduler/api/devices/nvidia/vgpu, and the device plugin
// github.com/Project-HAMi/volcano-vgpu-device-plugin; github.com/Project-HAMi/HAMi, pkg/device/nvidia.
var Sharings = []Sharing{
	{
		Register: "volcano.sh/node-vgpu-register", Assigned: "volcano.sh/vgpu-ids-new",
		Number: "volcano.sh/vgpu-number", Memory: "volcano.sh/vgpu-memory",
		Percentage: "volcano.sh/vgpu-memory-percentage", Cores: "volcano.sh/vgpu-cores", always: true,
	},
	{
		Register: "hami.io/node-nvidia-register", Assigned: "hami.io/vgpu-devices-allocated",
		Number: wholeNVIDIA, Memory: "nvidia.com/gpumem", Percentage: "nvidia.com/gpumem-percentage", Cores: "nvidia.com/gpucores",
	},
}

// registers returns the annotation with which nodes register the cards of a resource that is one of
// fractions alone, "" for another resource.
func registers(resource v1.ResourceName) string {
	for _, s := range Sharings {
		if s.always && s.Number == resource {
			return s.Register
		}
	}
	return ""
}

// IsRegistration reports whether a key is an annotation in which nodes register cards, and not a label that names them.
func IsRegistration(key string) bool {
	return slices.ContainsFunc(Sharings, func(s Sharing) bool { return s.Register == key })
}

// OfFractions reports whether a resource gives pods fractions of cards, and never whole ones of a node that does
// not register.
func OfFractions(resource v1.ResourceName) bool { return registers(resource) != "" }

// IsPart reports whether a resource is memory or cores of fractions, which are charged with their number.
func IsPart(resource v1.ResourceName) bool {
	return slices.ContainsFunc(Sharings, func(s Sharing) bool {
		return resource == s.Memory || resource == s.Percentage || resource == s.Cores
	})
}

// FractionsBy is the argument fractions: what of a fraction counts.
type FractionsBy string

const (
	ByDominant FractionsBy = "dominant" // the larger one of memory and cores
	ByMemory   FractionsBy = "memory"
)

// Model gives the memory and cores of one card of a model. Cards that pods take whole have the zero Model.
type Model struct {
	Memory uint32 // in the unit of the device plugin, nearly always MiB
	Cores  uint32 // in percent, 100 unless the device plugin scales them
}

// Least returns the smaller memory and cores of two models: fractions are largest on them.
func (m Model) Least(other Model) Model {
	return Model{min(m.Memory, other.Memory), min(m.Cores, other.Cores)}
}

// Shared reports whether cards of the model are shared.
func (m Model) Shared() bool { return m.Memory > 0 }

// whole is one card in milli-cards.
const whole Milli = 1000

// part returns amount/of of a card, rounded down to a multiple of 2^-20 milli-cards: at least one of these, and at
// most one card.
func part(amount int64, of uint32) Milli {
	switch {
	case amount <= 0:
		return 0
	case amount >= int64(of):
		return whole
	}
	const unit = 1 << 20
	return Milli(max(1, uint64(amount)*1000*unit/uint64(of))) / unit // below 2^62
}

// Part holds the request of one container, for each of Count devices.
type Part struct {
	Count   int64 // at least 1
	Memory  int64 // 0 where Percent counts
	Percent int64 // of the memory, 1 to 100; 0 where Memory counts
	Cores   int64 // in percent, at least 0
	// Init: an init container, which ends before the containers begin. Sidecar: one that runs beside them.
	Init, Sidecar bool
}

// use holds the parts of the memory and of the cores of one device, in milli-cards.
type use struct{ memory, cores Milli }

func (u use) of(by FractionsBy) Milli {
	if by == ByMemory {
		return min(whole, u.memory)
	}
	return min(whole, max(u.memory, u.cores))
}

// takes returns what the part takes of one device of a model. A card that is not shared is taken whole.
func (p Part) takes(m Model) use {
	if !m.Shared() {
		return use{whole, whole}
	}
	u := use{part(p.Memory, m.Memory), part(p.Cores, m.Cores)}
	if p.Percent > 0 {
		u.memory = part(p.Percent, 100)
	}
	return u
}

// Fraction holds the request of a pod for parts of shared cards, and the devices that the pod got.
type Fraction struct {
	Number   v1.ResourceName // see Sharing
	Parts    []Part          // by container, init containers first
	Assigned []Assignment    // nil where the pod has none, or the annotation is broken
}

// Assignment is a device that a container got, with memory and cores.
type Assignment struct {
	UUID          string
	Memory, Cores int64
}

// On returns what the pod takes of cards of a model at most, whichever devices it gets. Containers may
// share a device, so the sum is at least Exact.
func (f *Fraction) On(m Model, by FractionsBy) (sum Milli) {
	for _, p := range f.Parts {
		if !p.Init {
			sum += Milli(p.Count) * p.takes(m).of(by)
		}
	}
	return max(sum, f.initOn(m, by))
}

// initOn returns what init containers take at most, with the sidecars that run beside them.
func (f *Fraction) initOn(m Model, by FractionsBy) (peak Milli) {
	var sidecars Milli
	for _, p := range f.Parts {
		switch amount := Milli(p.Count) * p.takes(m).of(by); {
		case p.Sidecar:
			sidecars += amount
		case p.Init:
			peak = max(peak, sidecars+amount)
		}
	}
	return peak
}

// Whole returns the number of cards of which the pod takes a part, as if it took all of each.
func (f *Fraction) Whole() Milli { return f.On(Model{}, ByMemory) }

// Exact returns what the pod takes by the name of the card, sorted by name:
//
//	Σ over devices of max(Σ memory / memory of the device, Σ cores / cores of the device)
//
// with the sums over the containers that got the device. ok is false where what is assigned does not
// agree with what is requested, or names a device that find does not know: then On counts. Nobody gets
// more than is charged: memory and cores are at least those that the container requests.
func (f *Fraction) Exact(find func(uuid string) (Device, bool), by FractionsBy) (charges []Charge, ok bool) {
	parts := f.assignedParts()
	if parts == nil {
		return nil, false
	}
	uses := map[string]use{} // by UUID
	for i, p := range parts {
		a := f.Assigned[i]
		d, known := find(a.UUID)
		if !known {
			return nil, false
		}
		if p.Init {
			continue
		}
		least, u := p.takes(d.Model), uses[d.UUID]
		u.memory += max(least.memory, part(a.Memory, d.Memory))
		u.cores += max(least.cores, part(a.Cores, d.Cores))
		uses[d.UUID] = u
	}
	for uuid, u := range uses {
		d, _ := find(uuid)
		i, has := slices.BinarySearchFunc(charges, d.Card, func(c Charge, name string) int { return cmp.Compare(c.Card, name) })
		if !has {
			charges = slices.Insert(charges, i, Charge{Card: d.Card, Model: d.Model})
		}
		charges[i].Milli += u.of(by)
		charges[i].Model = charges[i].Model.Least(d.Model)
	}
	for i, c := range charges {
		charges[i].Milli = max(c.Milli, f.initOn(c.Model, by))
	}
	return charges, len(charges) > 0
}

// Charge holds the amount of one card that a pod is charged for.
type Charge struct {
	Card  string
	Milli Milli
	Model Model // the least of the devices
}

// assignedParts returns the part that each device is assigned for, nil where their numbers do not agree.
// Volcano assigns devices to the containers of a pod alone, HAMi to its init containers first as well.
func (f *Fraction) assignedParts() []Part {
	for _, withInit := range []bool{false, true} {
		total := int64(0)
		counted := func(p Part) bool { return withInit || !p.Init && !p.Sidecar }
		for _, p := range f.Parts {
			if counted(p) {
				total = add(total, p.Count)
			}
		}
		if total == 0 || total != int64(len(f.Assigned)) {
			continue
		}
		var parts []Part
		for _, p := range f.Parts {
			for range p.Count {
				if counted(p) {
					parts = append(parts, p)
				}
			}
		}
		return parts
	}
	return nil
}

// Uses returns the resources that the fraction uses up on its node.
func (f *Fraction) Uses() []v1.ResourceName {
	i := slices.IndexFunc(Sharings, func(s Sharing) bool { return s.Number == f.Number })
	return []v1.ResourceName{f.Number, Sharings[i].Memory, Sharings[i].Cores}
}

// Equal reports whether two pods request the same, and neither has devices.
func (f *Fraction) Equal(other *Fraction) bool {
	return f.Number == other.Number && slices.Equal(f.Parts, other.Parts) && f.Assigned == nil && other.Assigned == nil
}

// Fractions returns what a pod requests of cards that are shared, by the way of sharing; nil for nearly
// every pod.
func Fractions(pod *v1.Pod) (all []*Fraction) {
	if pod == nil {
		return nil
	}
	for _, s := range Sharings {
		if f := s.of(pod); f != nil {
			all = append(all, f)
		}
	}
	return all
}

func (s Sharing) of(pod *v1.Pod) *Fraction {
	var parts []Part
	divided := s.always
	each := func(containers []v1.Container, init bool) {
		for i := range containers {
			p, has, divides := s.part(&containers[i])
			if !has {
				continue
			}
			restart := containers[i].RestartPolicy
			p.Sidecar = init && restart != nil && *restart == v1.ContainerRestartPolicyAlways
			p.Init = init && !p.Sidecar
			parts, divided = append(parts, p), divided || divides
		}
	}
	each(pod.Spec.InitContainers, true)
	each(pod.Spec.Containers, false)
	if len(parts) == 0 || !divided {
		return nil
	}
	return &Fraction{Number: s.Number, Parts: parts, Assigned: parseAssigned(pod.Annotations[s.Assigned])}
}

// part returns what a container requests. divides: it requests less than whole devices. A container
// that names memory alone gets one device, and one that names no memory gets all of it.
//
// Source: volcano.sh/volcano, pkg/scheduler/api/devices, ExtractResourceRequest. A quantity that is no
// whole number is 0 there. 0 percent is no limit in the container, so it is the whole card.
func (s Sharing) part(c *v1.Container) (p Part, has, divides bool) {
	number, has := wholeOf(c, s.Number)
	memory, hasMemory := wholeOf(c, s.Memory)
	percent, hasPercent := wholeOf(c, s.Percentage)
	cores, hasCores := wholeOf(c, s.Cores)
	if !has {
		number, has = 1, hasMemory
	}
	p = Part{Count: number, Memory: memory, Cores: cores}
	if hasPercent || memory == 0 {
		p.Memory, p.Percent = 0, percent
		if percent <= 0 || percent > 100 {
			p.Percent = 100
		}
	}
	return p, has && number > 0, hasMemory || hasPercent || hasCores
}

// wholeOf returns the quantity of a container: its limit, or its request if it has no limit.
func wholeOf(c *v1.Container, resource v1.ResourceName) (n int64, has bool) {
	quantity, has := c.Resources.Limits[resource]
	if !has {
		quantity, has = c.Resources.Requests[resource]
	}
	if thousandths := thousandths(quantity); thousandths%1000 == 0 || thousandths == math.MaxInt64 {
		n = thousandths / 1000
	}
	return n, has
}
