package card

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// A fraction is a part of a card: some of its memory, and some of its cores. Nodes register their cards
// and the memory of each (Register). Pods request memory and cores. The scheduler's plugin for devices
// writes the assigned cards to the pod (Assigned).
//
// A fraction is charged to the account of its card:
//
//	Σ over devices of max(memory / memory of the device, cores / cores of the device)
//
// The charge is in milli-cards. Each quotient is rounded down to a multiple of 2^-20. Therefore sums are
// exact, and seven sevenths fit into one card.

// Sharing is a way to share cards: the annotations and resources of a device plugin.
type Sharing struct {
	Register string // annotation of nodes: the devices
	Assigned string // annotation of pods: the assigned devices

	Number     v1.ResourceName // devices of a container; the other resources are per device
	Memory     v1.ResourceName // of each device, in the unit in which the node registers it
	Percentage v1.ResourceName // of the memory of each device
	Cores      v1.ResourceName // of each device, in percent

	// always: a pod has a fraction even without Memory, Percentage and Cores, because Number is no resource
	// of whole cards.
	always bool
}

// Sharings are the known ways to share cards.
//
// Source: volcano.sh/volcano, pkg/scheduler/api/devices/nvidia/vgpu, and the device plugin
// github.com/Project-HAMi/volcano-vgpu-device-plugin; github.com/Project-HAMi/HAMi, pkg/device/nvidia.
var Sharings = []Sharing{
	{
		Register:   "volcano.sh/node-vgpu-register",
		Assigned:   "volcano.sh/vgpu-ids-new",
		Number:     "volcano.sh/vgpu-number",
		Memory:     "volcano.sh/vgpu-memory",
		Percentage: "volcano.sh/vgpu-memory-percentage",
		Cores:      "volcano.sh/vgpu-cores",
		always:     true,
	},
	{
		Register:   "hami.io/node-nvidia-register",
		Assigned:   "hami.io/vgpu-devices-allocated",
		Number:     wholeNVIDIA,
		Memory:     "nvidia.com/gpumem",
		Percentage: "nvidia.com/gpumem-percentage",
		Cores:      "nvidia.com/gpucores",
	},
}

// registers returns the annotation with which nodes register the cards of a resource. It returns "" for a resource
// that pods can also use for whole cards.
func registers(resource v1.ResourceName) string {
	for _, s := range Sharings {
		if s.always && s.Number == resource {
			return s.Register
		}
	}

	return ""
}

// IsRegistration reports whether a key is the annotation of a registration, as opposed to a label that names cards.
func IsRegistration(key string) bool {
	return slices.ContainsFunc(Sharings, func(s Sharing) bool { return s.Register == key })
}

// OfFractions reports whether a resource gives pods fractions of cards only. A node without a registration gives none.
func OfFractions(resource v1.ResourceName) bool { return registers(resource) != "" }

// IsPart reports whether a resource is the memory or the cores of a fraction. The charge of Number includes them.
func IsPart(resource v1.ResourceName) bool {
	return slices.ContainsFunc(Sharings, func(s Sharing) bool {
		return resource == s.Memory || resource == s.Percentage || resource == s.Cores
	})
}

// FractionsBy is the argument fractions: the part of a fraction that counts.
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

// quotient returns amount/total in milli-cards, rounded down to a multiple of 2^-20. A positive amount is at least one
// such multiple, and at most one card.
func quotient(amount int64, total uint32) Milli {
	switch {
	case amount <= 0:
		return 0
	case amount >= int64(total):
		return whole
	}

	const unit = 1 << 20
	return Milli(max(1, uint64(amount)*1000*unit/uint64(total))) / unit // the product is below 2^62
}

// Part holds the request of one container, for each of Count devices.
type Part struct {
	Count   int64 // at least 1
	Memory  int64 // 0 where Percent counts
	Percent int64 // of the memory, 1 to 100; 0 where Memory counts
	Cores   int64 // in percent, at least 0
	Init    bool  // an init container, which ends before the containers begin
	Sidecar bool  // an init container that runs along with the containers
}

// use holds the parts of the memory and of the cores of one device, in milli-cards.
type use struct{ memory, cores Milli }

func (u use) charge(by FractionsBy) Milli {
	if by == ByMemory {
		return u.memory
	}

	return max(u.memory, u.cores)
}

func (u use) plus(other use) use { return use{u.memory + other.memory, u.cores + other.cores} }

// takes returns the part of one device of a model that the container takes. It takes all of a card that is not shared.
func (p Part) takes(m Model) use {
	if !m.Shared() {
		return use{whole, whole}
	}

	u := use{quotient(p.Memory, m.Memory), quotient(p.Cores, m.Cores)}
	if p.Percent > 0 {
		u.memory = quotient(p.Percent, 100)
	}

	return u
}

// Fraction holds the request of a pod for parts of shared cards, and the devices that the pod got.
type Fraction struct {
	Number   v1.ResourceName // see Sharing
	Parts    []Part          // by container, init containers first
	Assigned []Assignment    // nil where the pod has none, or the annotation is broken
}

// On returns the most that the pod takes of cards of a model, whichever devices it gets. Containers may
// share a device, so the sum is at least Exact.
func (f *Fraction) On(m Model, by FractionsBy) (sum Milli) {
	for _, p := range f.Parts {
		if !p.Init {
			sum += Milli(p.Count) * p.takes(m).charge(by)
		}
	}

	return max(sum, f.initOn(m, by))
}

// initOn returns the most that init containers take, together with the sidecars that run at the same time.
func (f *Fraction) initOn(m Model, by FractionsBy) (peak Milli) {
	var sidecars Milli

	for _, p := range f.Parts {
		amount := Milli(p.Count) * p.takes(m).charge(by)
		switch {
		case p.Sidecar:
			sidecars += amount
		case p.Init:
			peak = max(peak, sidecars+amount)
		}
	}

	return peak
}

// Whole returns the number of cards that the pod takes a part of, as if it took all of each.
func (f *Fraction) Whole() Milli { return f.On(Model{}, ByMemory) }

// Uses returns the resources of a node that the fraction uses up.
func (f *Fraction) Uses() []v1.ResourceName {
	i := slices.IndexFunc(Sharings, func(s Sharing) bool { return s.Number == f.Number })
	return []v1.ResourceName{f.Number, Sharings[i].Memory, Sharings[i].Cores}
}

// Equal reports whether two pods request the same, and neither has assigned devices.
func (f *Fraction) Equal(other *Fraction) bool {
	sameParts := f.Number == other.Number && slices.Equal(f.Parts, other.Parts)
	return sameParts && f.Assigned == nil && other.Assigned == nil
}

// Fractions returns the requests of a pod for fractions of cards, one for each way of sharing. It is nil for nearly
// every pod.
func Fractions(pod *v1.Pod) (all []*Fraction) {
	if pod == nil {
		return nil
	}

	for _, s := range Sharings {
		if f := s.fraction(pod); f != nil {
			all = append(all, f)
		}
	}

	return all
}

// fraction returns the request of a pod for fractions, or nil if it requests none.
func (s Sharing) fraction(pod *v1.Pod) *Fraction {
	parts, divided := s.parts(nil, pod.Spec.InitContainers, true)
	parts, runningDivided := s.parts(parts, pod.Spec.Containers, false)
	if len(parts) == 0 || !s.always && !divided && !runningDivided {
		return nil
	}

	return &Fraction{Number: s.Number, Parts: parts, Assigned: parseAssigned(pod.Annotations[s.Assigned])}
}

// parts appends the requests of containers to all. divided: one of them requests less than whole devices.
func (s Sharing) parts(all []Part, containers []v1.Container, init bool) (parts []Part, divided bool) {
	for i := range containers {
		p, has, divides := s.request(&containers[i])
		if !has {
			continue
		}

		p.Sidecar = init && isSidecar(&containers[i])
		p.Init = init && !p.Sidecar
		all = append(all, p)
		divided = divided || divides
	}

	return all, divided
}

// request returns the request of a container. divides: it requests less than whole devices. A container
// that names memory alone gets one device. A container that names no memory gets all of it.
//
// Source: volcano.sh/volcano, pkg/scheduler/api/devices, ExtractResourceRequest. It reads a fractional
// quantity as 0. 0 percent is no limit in the container, so it is the whole card.
func (s Sharing) request(c *v1.Container) (p Part, has, divides bool) {
	number, has := wholeOf(c, s.Number)
	memory, hasMemory := wholeOf(c, s.Memory)
	percent, hasPercent := wholeOf(c, s.Percentage)
	cores, hasCores := wholeOf(c, s.Cores)

	if !has {
		number, has = 1, hasMemory
	}

	p = Part{Count: number, Memory: memory, Cores: cores}
	if hasPercent || memory == 0 {
		p.Memory = 0
		p.Percent = percent
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

	milli := thousandths(quantity)
	if milli%1000 == 0 || milli == math.MaxInt64 {
		n = milli / 1000
	}

	return n, has
}
