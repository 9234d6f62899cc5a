package index

import "github.com/capacity-card/capacity-card/fastres"

// DeviceClaim is a resource claim of a pod. Pods that name the same claim share its devices.
type DeviceClaim struct {
	Name    string // with its namespace, unique in a session
	Devices []Devices
}

// Devices is a quantity of devices: their count, or a capacity, in the dimension of one class.
type Devices struct {
	Dim      fastres.Dim
	Quantity float64
}

// Held is a claim as a queue holds it. A queue holds a claim while a pod in it, or below it, refers
// to the claim. The zero Held is a claim that the queue does not hold.
type Held struct {
	References int       // of pods
	Devices    []Devices // the charge of the queue for the claim
}

// deviceClaims keeps the device claims of all queues, with the older versions that snapshots read. It
// works as versionedRows does for allocated, and shares its versions.
//
// Invariant: along newest[k] and previous, versions strictly decrease.
type deviceClaims struct {
	newest  map[claimKey]int32 // to its newest entry
	entries []claimEntry
}

type claimKey struct {
	queue Queue
	claim string
}

type claimEntry struct {
	held     Held
	version  int
	previous int32 // the entry that it replaced, or -1
}

func (c *deviceClaims) reset() {
	clear(c.newest)
	clear(c.entries)
	c.entries = c.entries[:0]
}

// at returns a device claim as of a version.
func (c *deviceClaims) at(k claimKey, version int) Held {
	entry, ok := c.newest[k]
	if !ok {
		entry = -1
	}
	for entry >= 0 && c.entries[entry].version > version {
		entry = c.entries[entry].previous
	}

	if entry < 0 {
		return Held{}
	}
	return c.entries[entry].held
}

// set changes a device claim in a version, which is the newest one.
func (c *deviceClaims) set(k claimKey, held Held, version int) {
	previous, ok := c.newest[k]
	if !ok {
		previous = -1
	}

	// No snapshot reads an entry of the newest version.
	if ok && c.entries[previous].version == version {
		c.entries[previous].held = held
		return
	}

	if c.newest == nil {
		c.newest = map[claimKey]int32{}
	}
	c.newest[k] = int32(len(c.entries))
	c.entries = append(c.entries, claimEntry{held, version, previous})
}

// DeviceClaim returns a device claim as q holds it.
func (ix *Index) DeviceClaim(q Queue, name string) Held {
	return ix.claims.at(claimKey{q, name}, ix.allocated.current)
}

// SetDeviceClaim changes a device claim of q. A writer changes the whole path of q, and allocated with it
// (see quota.ChargeDeviceClaims).
func (ix *Index) SetDeviceClaim(q Queue, name string, held Held) {
	ix.claims.set(claimKey{q, name}, held, ix.allocated.begin())
}
