// Package fastres is the arithmetic of quotas: resource vectors whose
// dimensions have fixed positions, so that adding, comparing and rolling up
// are short loops over numbers instead of walks over maps of strings.
//
// # Words
//
//	dimension  one kind of resource: cpu, memory, or a scalar such as a GPU
//	quantity   how much of a dimension, in the units below
//	presence   whether a scalar is named at all; absent is not the same as 0
//	vector     one quantity per dimension, with presence
//	row        a vector that lives in an arena (Rows)
//	request    a vector asked for by a task or a job
//
// # Units
//
// Quantities have the units of Volcano's api.Resource: cpu in milliCPU, memory
// in bytes, pods in units, every other scalar in thousandths of its unit.
// Float64 holds whole numbers exactly up to 2^53, so what is charged and later
// refunded cancels to the bit. MaxQuantity stands for "no bound".
//
// # Layout
//
// Dimension 0 is cpu, 1 is memory, 2 is pods; the others are handed out by
// index.Names. A vector is one slice of words: first a bit mask of presence, laid
// out as a bits-and-blooms bitset is, then the quantities. So it is passed in
// registers, and a row lies in one piece of memory.
//
// # Invariants
//
//   - All vectors of one session have the same length.
//   - cpu and memory are always present.
//   - An absent dimension has the quantity 0.
//   - Quantities are never NaN, and never negative once converted from objects.
//
// # What it is not
//
// It knows no names, no queues and no Kubernetes types. Vectors have no locks:
// many readers are safe, a writer must be alone.
package fastres
