package chaos

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// publish publishes devices in a new generation of the pool, or in an old one that stays with the current one.
func (p *Pool) publish(node string, cards []string, old bool) {
	if old {
		if len(p.slices) > 0 {
			p.slices = append(p.slices, testbed.Slice(node, p.generation-1, cards))
		}
		return
	}

	p.generation++
	p.Cards, p.slices = cards, nil
	if len(cards) > 0 {
		p.slices = []*resourcev1.ResourceSlice{testbed.Slice(node, p.generation, cards)}
	}
}

// addClaim adds a claim with a new object.
func (w *World) addClaim(c *Claim) {
	c.Object = &resourcev1.ResourceClaim{}
	c.Object.Namespace = c.Namespace
	c.Object.Name = c.Name
	c.Object.UID = w.uid(c.Name)

	for i, alternatives := range requestsOf(c.Text) {
		c.Object.Spec.Devices.Requests = append(c.Object.Spec.Devices.Requests, testbed.DeviceRequest(i, alternatives))
	}

	w.Claims = append(w.Claims, c)
}

// DeviceObjects returns the objects of dynamic resource allocation.
func (w *World) DeviceObjects() (o offline.DeviceObjects) {
	for _, node := range keys(w.Pools) {
		o.Slices = append(o.Slices, w.Pools[node].slices...)
	}

	for _, c := range w.Claims {
		o.Claims = append(o.Claims, c.Object)
	}

	if !o.Empty() {
		o.Classes = testbed.DeviceClasses
	}

	return o
}

// claim gives a pod its claims.
func (p PodSpec) claim(pod *v1.Pod) {
	for i, text := range listOf(p.Claims) {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims,
			v1.PodResourceClaim{Name: fmt.Sprint("own-", i), ResourceClaimTemplateName: &text})
	}
	for _, name := range listOf(p.Shares) {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims,
			v1.PodResourceClaim{Name: "shared-" + name, ResourceClaimName: &name})
	}
}
