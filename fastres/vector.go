package fastres

import (
	"math"
	"math/bits"
)

// Dim is a dimension: its position in every vector of a session, from 0.
type Dim int

// The dimensions with a fixed position.
const (
	CPU    Dim = iota // milliCPU, always present
	Memory            // bytes, always present
	Pods              // units; every task requests one, so most comparisons leave it out

	// FirstFree is the first position that index.Names assigns.
	FirstFree
)

const (
	// MinResource is the tolerance of upstream's comparisons, in the unit of
	// the dimension (api.Resource, resource_info.go: minResource).
	MinResource = 0.1

	// MaxQuantity stands for "no bound". Adding a quantity of a request does not
	// change it.
	MaxQuantity = math.MaxFloat64
)

// always is the presence of a vector without scalars: cpu and memory alone.
const always uint64 = 1<<CPU | 1<<Memory

// Vector holds one quantity for each dimension, and which dimensions are present. The zero
// Vector has no dimensions: use NewVector or Rows.Row. Copies share memory, as slices do.
//
// A Vector has one slice because the compiler keeps structs of at most four words in
// registers. A struct of two slices has six words, and every call copies it through memory
// (BenchmarkAllocatable in package bench measures such calls).
type Vector struct {
	words []uint64 // the words of presence, then the bits of the quantities (IEEE 754)
	first int      // the position of the first quantity
}

// NewVector returns an empty vector of dims dimensions, at least FirstFree: no scalar is
// present, and every quantity is 0 (api.EmptyResource).
func NewVector(dims int) Vector {
	first := presenceWords(dims)

	x := Vector{words: make([]uint64, first+dims), first: first}
	x.words[0] = always

	return x
}

// presenceWords returns the number of words that hold the presence of dims dimensions.
func presenceWords(dims int) int { return (dims + 63) / 64 }

// at returns the quantity of d.
func (x Vector) at(d int) float64 { return math.Float64frombits(x.words[x.first+d]) }

// put sets the quantity of d, and leaves its presence as it is.
func (x Vector) put(d int, quantity float64) { x.words[x.first+d] = math.Float64bits(quantity) }

// present returns the words of presence.
func (x Vector) present() []uint64 { return x.words[:x.first] }

// Len returns the number of dimensions.
func (x Vector) Len() int { return len(x.words) - x.first }

// Get returns the quantity of d, which is 0 if d is absent (api.Resource.Get).
func (x Vector) Get(d Dim) float64 { return x.at(int(d)) }

// Has reports whether d is present.
func (x Vector) Has(d Dim) bool { return x.words[d>>6]&(1<<(d&63)) != 0 }

// Set sets the quantity of d and makes d present (api.Resource.SetScalar).
func (x Vector) Set(d Dim, quantity float64) {
	x.put(int(d), quantity)
	x.words[d>>6] |= 1 << (d & 63)
}

// Increase adds to the quantity of d and makes d present (api.Resource.AddScalar).
func (x Vector) Increase(d Dim, quantity float64) { x.Set(d, x.Get(d)+quantity) }

// Join makes the dimensions that are present in y present in x. x is at least as long as y.
func (x Vector) Join(y Vector) {
	for w, word := range y.present() {
		x.words[w] |= word
	}
}

// Reset makes every scalar absent and every quantity 0 (api.EmptyResource).
func (x Vector) Reset() {
	clear(x.words)
	x.words[0] = always
}

// Fill sets every dimension to the same quantity and makes it present.
func (x Vector) Fill(quantity float64) {
	for d := range x.Len() {
		x.Set(Dim(d), quantity)
	}
}

// CopyFrom makes x equal to y, including presence (api.Resource.Clone).
func (x Vector) CopyFrom(y Vector) {
	copy(x.words, y.words)
}

// Add adds y to x. A dimension that is present in x or y is present in the result
// (api.Resource.Add).
func (x Vector) Add(y Vector) {
	for w, word := range y.present() {
		x.words[w] |= word
		for ; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			x.put(d, x.at(d)+y.at(d))
		}
	}
}

// Sub subtracts y from x, and no quantity falls below 0. A dimension that is present in x
// or y is present in the result (api.Resource.Sub).
//
// DIVERGES: upstream panics if y exceeds x. A refund that exceeds its charge must not stop
// the scheduler.
func (x Vector) Sub(y Vector) {
	for w, word := range y.present() {
		x.words[w] |= word
		for ; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			x.put(d, max(0, x.at(d)-y.at(d)))
		}
	}
}

// SetLesser makes x the lesser of y and z in each dimension, with the presence of y. It is
// the part of y that can be subtracted from z.
func (x Vector) SetLesser(y, z Vector) {
	copy(x.present(), y.present())
	for d := range x.Len() {
		x.put(d, min(y.at(d), z.at(d)))
	}
}

// SetExceeded makes x the part of y that exceeds z, max(0, y − z). Only scalars with such a
// part are present in x (api.ExceededPart).
func (x Vector) SetExceeded(y, z Vector) {
	clear(x.present())
	x.words[0] = always

	for d := range x.Len() {
		excess := y.at(d) - z.at(d)
		if excess > 0 {
			x.Set(Dim(d), excess)
		} else {
			x.put(d, 0)
		}
	}
}

// Scale multiplies every quantity by a ratio (api.Resource.Multi).
func (x Vector) Scale(ratio float64) {
	for d := range x.Len() {
		x.put(d, x.at(d)*ratio)
	}
}

// CapTo lowers x to limit in the dimensions that both name. A dimension that limit does not
// name has no bound (api.Resource.MinDimensionResource with Infinity).
func (x Vector) CapTo(limit Vector) {
	for w, word := range x.present() {
		for word &= limit.words[w]; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			x.put(d, min(x.at(d), limit.at(d)))
		}
	}
}

// CapToZero lowers x to limit in every dimension. A dimension that limit does not name has
// the bound 0. The presence of x does not change (api.Resource.MinDimensionResource with
// Zero).
func (x Vector) CapToZero(limit Vector) {
	for d := range x.Len() {
		x.put(d, min(x.at(d), limit.at(d)))
	}
}

// RaiseTo raises x to at least floor in every dimension. A dimension that is present in x
// or floor is present in the result (helpers.Max).
func (x Vector) RaiseTo(floor Vector) {
	for w, word := range floor.present() {
		x.words[w] |= word
		for ; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			x.put(d, max(x.at(d), floor.at(d)))
		}
	}
}

// InheritFrom copies from parent each dimension that x does not set. These are cpu and memory
// of 0 or less, and absent scalars (Volcano, capacity/capacity.go, checkHierarchicalQueue).
func (x Vector) InheritFrom(parent Vector) {
	for d := range parent.Present() {
		// cpu and memory are always present, so 0 means that x does not set them.
		unset := !x.Has(d) || d <= Memory && x.Get(d) <= 0
		if unset {
			x.Set(d, parent.Get(d))
		}
	}
}
