package fuzz

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// deviceWorld is a world in which pods share resource claims.
type deviceWorld struct {
	*world
	quotas  map[string]oracle.Amounts // by queue
	claims  oracle.DeviceClaims
	running []oracle.Plain
}

var deviceKeys = []string{"deviceclass/a", "memory.deviceclass/a", "cores.deviceclass/a", "deviceclass/b"}

// classOf returns the key of the count of devices.
func classOf(key string) string { return key[strings.Index(key, "deviceclass/"):] }

// FuzzDevices gives pods with resource claims nodes, and takes them away, in the accounts and in
// simulations of several moments. Accounts and verdicts equal a recount of all pods after each
// event.
func FuzzDevices(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := workload.Bytes(data)
		w := newDeviceWorld(t, r)
		type moment struct {
			overlay index.Overlay
			running []oracle.Plain
		}
		var taken []moment
		for range 4 + r.IntN(24) {
			w.running = w.event(w.ix, w.running)
			w.ix.Check()
			if r.IntN(3) == 0 {
				taken = append(taken, moment{index.Over(w.ix.Version()), slices.Clone(w.running)})
			}
			for range min(len(taken), r.IntN(3)) {
				m := &taken[r.IntN(len(taken))]
				if r.IntN(3) == 0 {
					taken = append(taken, moment{m.overlay.Clone(), slices.Clone(m.running)})
					continue
				}
				m.running = w.event(&m.overlay, m.running)
			}
			w.compare(w.ix, w.running)
			for i := range taken {
				w.compare(&taken[i].overlay, taken[i].running)
			}
			live := index.Over(w.ix)
			w.compare(&live, w.running)
		}
	})
}

func newDeviceWorld(t *testing.T, r *rand.Rand) *deviceWorld {
	names := &index.Names{}
	for _, key := range deviceKeys {
		device(names, key)
	}
	w := build(t, r, draw(r), &index.Index{}, names, inOrder)
	d := &deviceWorld{world: w, quotas: map[string]oracle.Amounts{}, claims: oracle.DeviceClaims{}}
	if r.IntN(8) > 0 {
		for i := range 1 + r.IntN(6) {
			claim := oracle.Amounts{}
			for _, key := range deviceKeys {
				if r.IntN(2) == 0 {
					claim[key] = float64(1 + r.IntN(5))
				}
			}
			d.claims[fmt.Sprintf("ns/claim-%d", i)] = claim
		}
	}
	for _, name := range w.oracle.Names() {
		quota := oracle.Amounts{}
		bounds := w.ix.RealCapability.Row(w.number(name))
		for _, key := range deviceKeys {
			if r.IntN(3) > 0 {
				continue
			}
			quota[key] = float64(r.IntN(10))
			class, bound := device(w.names, classOf(key)), quota[key]
			if !bounds.Has(class) {
				bounds.Set(class, fastres.MaxQuantity)
			}
			if key == classOf(key) && bound == 0 {
				bound = fastres.MaxQuantity
			}
			bounds.Set(device(w.names, key), bound)
		}
		d.quotas[name] = quota
	}
	return d
}

// device returns the dimension of a key.
func device(names *index.Names, key string) fastres.Dim {
	class := names.InternClass(classOf(key))
	if key == classOf(key) {
		return class
	}
	return names.InternCapacity(key, class)
}

// of returns the claims of a task, for the engine.
func (w *deviceWorld) of(task oracle.Plain) (claims []index.DeviceClaim) {
	for _, name := range task.Claims {
		claim := index.DeviceClaim{Name: name}
		for _, key := range slices.Sorted(maps.Keys(w.claims[name])) {
			claim.Devices = append(claim.Devices, index.Devices{Dim: device(w.names, key), Quantity: w.claims[name][key]})
		}
		claims = append(claims, claim)
	}
	return claims
}

// draw draws a task with some claims.
func (w *deviceWorld) draw() oracle.Plain {
	names := w.oracle.Names()
	task := oracle.Plain{Queue: names[w.rand.IntN(len(names))]}
	for i := range len(w.claims) {
		if w.rand.IntN(3) == 0 {
			task.Claims = append(task.Claims, fmt.Sprintf("ns/claim-%d", i))
		}
	}
	return task
}

// event gives a task a node if its claims fit, or some task leaves its node.
func (w *deviceWorld) event(a quota.Accounts, running []oracle.Plain) []oracle.Plain {
	if len(running) > 0 && w.rand.IntN(3) == 0 {
		i := w.rand.IntN(len(running))
		quota.RefundDeviceClaims(a, w.number(running[i].Queue), w.of(running[i]))
		return slices.Delete(slices.Clone(running), i, i+1)
	}
	task := w.draw()
	want := w.oracle.DeviceClaimsFit(task, w.claims, running, w.quotas, classOf)
	got := w.at(quota.DeviceClaimsFit(a, &w.ix.RealCapability, w.names, w.number(task.Queue), w.of(task)))
	require.Equal(w.t, want, got, "%v beside %v", task, running)
	if want != "" && w.rand.IntN(4) > 0 {
		return running
	}
	quota.ChargeDeviceClaims(a, w.number(task.Queue), w.of(task))
	return append(slices.Clone(running), task)
}

// compare compares the devices of all queues with a recount.
func (w *deviceWorld) compare(a quota.View, running []oracle.Plain) {
	for _, name := range w.oracle.Names() {
		want := w.oracle.Devices(name, w.claims, running)
		for _, key := range deviceKeys {
			require.Equal(w.t, want[key], a.Allocated(w.number(name)).Get(device(w.names, key)), "%s of %s", key, name)
		}
	}
}
