// Package fastres is the arithmetic of resource vectors. Each dimension has a fixed
// position in every vector. Therefore a sum or a comparison is a short loop over numbers,
// where Volcano's api.Resource looks up names in maps.
//
// # Words
//
//	dimension  a resource: cpu, memory, or a scalar
//	scalar     every resource but cpu and memory, such as pods, GPUs and cards
//	quantity   an amount of one dimension, in the units below
//	presence   of a dimension in a vector: whether the vector names it. An absent
//	           dimension is not the same as a dimension of 0.
//	vector     one quantity for each dimension, with presence
//	row        a vector in an arena (Rows)
//	request    a vector that a task or a job requests
//
// # Units
//
// Quantities have the units of Volcano's api.Resource: cpu in milliCPU, memory in bytes,
// pods in units, and every other scalar in thousandths of its unit (cards in
// milli-cards). A float64 holds whole numbers exactly up to 2^53, so a charge and its
// refund cancel to the bit. MaxQuantity stands for "no bound".
//
// # Layout
//
// Dimension 0 is cpu, 1 is memory, and 2 is pods. index.Names assigns the others. A vector
// is one slice of words: first the bit mask of presence, then the quantities. So the compiler
// passes a vector in registers, and a row is contiguous in memory.
//
// # Invariants
//
//   - All vectors of a session have the same length.
//   - cpu and memory are always present.
//   - An absent dimension has the quantity 0.
//   - A quantity is never NaN. The quantities of Kubernetes objects are never negative.
//
// # Errors
//
// There are none. A dimension out of range panics, as an index of a slice does. Vectors of
// different lengths are an error of the caller, which is not detected everywhere.
//
// # What it is not
//
// It knows no names, no queues and no Kubernetes types. Vectors have no locks: concurrent
// reads are safe, and a write excludes every other access.
package fastres
