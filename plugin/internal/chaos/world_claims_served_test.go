package chaos

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// ClaimsOf returns the claims of a pod: those that were made for it, and those that it shares with others.
func (w *World) ClaimsOf(pod *v1.Pod) (own, shared []*Claim) {
	for _, spec := range pod.Spec.ResourceClaims {
		if spec.ResourceClaimName != nil {
			if c := w.Claim(pod.Namespace, *spec.ResourceClaimName); c != nil {
				shared = append(shared, c)
			}
			continue
		}
		for _, status := range pod.Status.ResourceClaimStatuses {
			if status.Name == spec.Name {
				if c := w.Claim(pod.Namespace, *status.ResourceClaimName); c != nil {
					own = append(own, c)
				}
			}
		}
	}

	return own, shared
}

// serveClaims does the work of the controllers of claims. It makes the claims of templates, and deletes and deallocates
// claims that no pod needs. It allocates devices to claims with a pod that has a node.
func (w *World) serveClaims() {
	holders := map[*Claim][]*Pod{} // with a node
	needed := map[*Claim]bool{}
	for _, p := range w.claimants() {
		w.makeClaims(p)
		own, shared := w.ClaimsOf(p.Object)
		for _, c := range slices.Concat(own, shared) {
			needed[c] = true
			if p.Placed() {
				holders[c] = append(holders[c], p)
			}
		}
	}

	w.Claims = slices.DeleteFunc(w.Claims, func(c *Claim) bool {
		return c.Template && !needed[c] || c.Deleted && len(holders[c]) == 0
	})

	for i, c := range w.Claims {
		switch {
		case len(holders[c]) == 0 && c.Node != "":
			w.update(c, "", nil, nil)
		case len(holders[c]) > 0 && c.Node == "" && w.Cycle > holders[c][0].Since+i%3:
			w.allocate(c, holders[c][0].Object.Spec.NodeName)
		}
	}
}

// claimants returns the pods with claims that have not finished.
func (w *World) claimants() (all []*Pod) {
	for _, j := range slices.Concat(w.Jobs, w.Orphans) {
		for _, p := range j.All() {
			if !p.Finished() && len(p.Object.Spec.ResourceClaims) > 0 {
				all = append(all, p)
			}
		}
	}

	return all
}

// makeClaims makes the claims of a pod's templates.
func (w *World) makeClaims(p *Pod) {
	if len(p.Object.Status.ResourceClaimStatuses) > 0 {
		return
	}

	var made []v1.PodResourceClaimStatus
	for _, spec := range p.Object.Spec.ResourceClaims {
		if spec.ResourceClaimTemplateName == nil {
			continue
		}

		name := fmt.Sprintf("%s-%s-%d", p.Object.Name, spec.Name, w.made)
		w.addClaim(&Claim{
			Name:      name,
			Namespace: p.Object.Namespace,
			Text:      *spec.ResourceClaimTemplateName,
			Template:  true,
		})

		made = append(made, v1.PodResourceClaimStatus{Name: spec.Name, ResourceClaimName: &name})
	}

	if len(made) > 0 {
		p.update(func(pod *v1.Pod) { pod.Status.ResourceClaimStatuses = made })
	}
}

// allocate gives a claim devices of a node, if enough are free.
func (w *World) allocate(c *Claim, node string) {
	taken := map[int]bool{}
	for _, other := range w.Claims {
		if other.Node == node {
			for _, i := range other.Devices {
				taken[i] = true
			}
		}
	}

	if devices, served, ok := choose(requestsOf(c.Text), 0, w.Pools[node].Gives(), taken); ok {
		w.update(c, node, devices, served)
	}
}

// choose returns devices for the requests from one on, and the names of the requests that they serve. Each request gets
// the first alternative with enough devices.
func choose(
	requests []oracle.ClaimRequest, from int, cards []string, taken map[int]bool,
) (devices []int, served []string, ok bool) {
	if from == len(requests) {
		return nil, nil, true
	}
	for k, a := range requests[from] {
		name := fmt.Sprint("r", from)
		if len(requests[from]) > 1 {
			name += fmt.Sprint("/a", k)
		}

		free, all := freeOf(a, cards, taken)
		if a.Count == 0 && len(free) == all {
			a.Count = all
		}

		for first := 0; a.Count > 0 && first+a.Count <= len(free); first++ {
			got := free[first : first+a.Count]
			for _, i := range got {
				taken[i] = true
			}

			if rest, names, ok := choose(requests, from+1, cards, taken); ok {
				return slices.Concat(got, rest), slices.Concat(slices.Repeat([]string{name}, len(got)), names), true
			}
			for _, i := range got {
				delete(taken, i)
			}
		}
	}

	return nil, nil, false
}

// freeOf returns the devices that an alternative admits and that are free, and the number of all that it admits.
func freeOf(a oracle.ClaimAlternative, cards []string, taken map[int]bool) (free []int, all int) {
	for i, name := range cards {
		if slices.Contains(a.Cards, name) {
			all++
			if !taken[i] {
				free = append(free, i)
			}
		}
	}

	return free, all
}

// update changes the allocation of a claim.
func (w *World) update(c *Claim, node string, devices []int, served []string) {
	c.Node = node
	c.Devices = devices
	c.Object = c.Object.DeepCopy()
	c.Object.Status.Allocation = nil
	if node != "" {
		c.Object.Status.Allocation = &resourcev1.AllocationResult{}
		for k, i := range devices {
			result := resourcev1.DeviceRequestAllocationResult{
				Request: served[k],
				Driver:  testbed.Driver,
				Pool:    node,
				Device:  testbed.DeviceName(i),
			}
			c.Object.Status.Allocation.Devices.Results = append(c.Object.Status.Allocation.Devices.Results, result)
		}
	}

	w.Changed = true
	w.Note("claim %s has %v of %s", c.Name, devices, node)
}
