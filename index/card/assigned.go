package card

import (
	"cmp"
	"slices"
	"strings"
)

// Assignment is a device that a container got, with memory and cores.
type Assignment struct {
	UUID          string
	Memory, Cores int64
}

// parseAssigned parses the devices of the containers of a pod: UUID,type,memory,cores for each. A ":" follows
// each device, and ";" separates containers. A slice of MIG has its place in brackets behind the UUID.
// It returns nil for a broken text. A bad number is 0.
func parseAssigned(text string) (all []Assignment) {
	for device := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ':' || r == ';' }) {
		f := strings.Split(device, ",")
		if len(f) < 4 || len(all) == maxDevices {
			return nil
		}

		uuid, _, _ := strings.Cut(f[0], "[")
		all = append(all, Assignment{UUID: uuid, Memory: number(f[2]), Cores: number(f[3])})
	}

	return all
}

// Exact returns the charges of the pod, sorted by the name of the card:
//
//	Σ over devices of max(Σ memory / memory of the device, Σ cores / cores of the device)
//
// The inner sums run over the containers that got the device, and no device counts more than once. ok is false
// if the assignment does not match the request, if find does not know a device, or if the containers request
// more of a device than it has. Then On counts. Memory and cores count at least as much as the container
// requests. So nobody gets more than the charge.
func (f *Fraction) Exact(find func(uuid string) (Device, bool), by FractionsBy) (charges []Charge, ok bool) {
	parts := f.assignedParts()
	if parts == nil {
		return nil, false
	}

	requested := map[string]use{} // by UUID
	uses := map[string]use{}
	for i, p := range parts {
		a := f.Assigned[i]
		d, known := find(a.UUID)
		if !known {
			return nil, false
		}

		if p.Init {
			continue
		}

		least := p.takes(d.Model)
		requested[d.UUID] = requested[d.UUID].plus(least)
		if requested[d.UUID].charge(by) > whole {
			return nil, false
		}

		uses[d.UUID] = uses[d.UUID].plus(use{
			memory: max(least.memory, quotient(a.Memory, d.Memory)),
			cores:  max(least.cores, quotient(a.Cores, d.Cores)),
		})
	}

	for uuid, u := range uses {
		d, _ := find(uuid)
		i, has := slices.BinarySearchFunc(charges, d.Card, Charge.compareCard)
		if !has {
			charges = slices.Insert(charges, i, Charge{Card: d.Card, Model: d.Model})
		}

		charges[i].Milli += min(whole, u.charge(by))
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

func (c Charge) compareCard(card string) int { return cmp.Compare(c.Card, card) }

// assignedParts returns the part that each device is assigned for. It returns nil if the number of devices does not
// match the request.
func (f *Fraction) assignedParts() []Part {
	if len(f.Assigned) == 0 {
		return nil
	}

	// Volcano assigns devices to the containers of a pod alone, HAMi first to its init containers as well.
	for _, withInit := range []bool{false, true} {
		var counted []Part
		total := int64(0)
		for _, p := range f.Parts {
			if withInit || !p.Init && !p.Sidecar {
				counted = append(counted, p)
				total = add(total, p.Count)
			}
		}
		if total != int64(len(f.Assigned)) {
			continue
		}

		var parts []Part
		for _, p := range counted {
			parts = append(parts, slices.Repeat([]Part{p}, int(p.Count))...)
		}
		return parts
	}

	return nil
}
