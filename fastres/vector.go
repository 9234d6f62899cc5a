package fastres

import (
	"math"
	"math/bits"

	"github.com/bits-and-blooms/bitset"
)

// Dim is the position of a dimension in every vector of a session.
type Dim int

// The dimensions whose position never changes.
const (
	CPU    Dim = iota // milliCPU, always present
	Memory            // bytes, always present
	Pods              // units; requested by every task, so most comparisons pass over it

	// FirstFree is the first position that is handed out to other scalars.
	FirstFree
)

const (
	// MinResource is the tolerance of upstream's comparisons, in the unit of
	// the dimension (api.Resource, resource_info.go: minResource).
	MinResource = 0.1

	// MaxQuantity stands for "no bound". It absorbs what is added to it.
	MaxQuantity = math.MaxFloat64
)

// always is the presence of a vector without scalars: cpu and memory.
const always uint64 = 1<<CPU | 1<<Memory

// Vector holds one quantity per dimension, and which scalars are present.
// The zero Vector has no dimensions; make one with NewVector or Rows.Row.
// Copies share memory, as slices do.
//
// It is one slice because the compiler keeps structs of at most four words in
// registers; one of two slices it copies through memory at every call.
type Vector struct {
	words []uint64 // the words of presence, then the quantities' bits (IEEE 754)
	first int      // where the quantities begin
}

// NewVector returns a vector of dims dimensions, at least FirstFree, without
// scalars (api.EmptyResource).
func NewVector(dims int) Vector {
	first := presenceWords(dims)
	x := Vector{words: make([]uint64, first+dims), first: first}
	x.words[0] = always
	return x
}

// presenceWords is the number of presence words for dims dimensions.
func presenceWords(dims int) int { return (dims + 63) / 64 }

// at is the quantity of dimension d.
func (x Vector) at(d int) float64 { return math.Float64frombits(x.words[x.first+d]) }

// put changes the quantity of dimension d, not its presence.
func (x Vector) put(d int, quantity float64) { x.words[x.first+d] = math.Float64bits(quantity) }

// present are the words of presence.
func (x Vector) present() []uint64 { return x.words[:x.first] }

// Len is the number of dimensions.
func (x Vector) Len() int { return len(x.words) - x.first }

// Get returns the quantity of d, 0 where d is absent (api.Resource.Get).
func (x Vector) Get(d Dim) float64 { return x.at(int(d)) }

// Has reports whether d is present.
func (x Vector) Has(d Dim) bool { return x.words[d>>6]&(1<<(d&63)) != 0 }

// Set gives d a quantity and makes it present (api.Resource.SetScalar).
func (x Vector) Set(d Dim, quantity float64) {
	x.put(int(d), quantity)
	x.words[d>>6] |= 1 << (d & 63)
}

// Increase adds to d and makes it present (api.Resource.AddScalar).
func (x Vector) Increase(d Dim, quantity float64) { x.Set(d, x.Get(d)+quantity) }

// Presence returns the present dimensions. The set shares memory with x, so it
// is for reading, as long as x is not written.
func (x Vector) Presence() *bitset.BitSet { return bitset.From(x.present()) }

// Join makes what is present in y present in x, which must be as long or longer.
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

// Fill sets every dimension to one quantity and makes it present.
func (x Vector) Fill(quantity float64) {
	for d := range x.Len() {
		x.Set(Dim(d), quantity)
	}
}

// CopyFrom makes x equal to y, presence included (api.Resource.Clone).
func (x Vector) CopyFrom(y Vector) {
	copy(x.words, y.words)
}

// Add adds y to x; what is present in either is present after
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

// Sub subtracts y from x, stopping at 0 (api.Resource.Sub).
//
// DIVERGES: upstream panics when y exceeds x; a refund that exceeds its charge
// must not stop a scheduler.
func (x Vector) Sub(y Vector) {
	for w, word := range y.present() {
		x.words[w] |= word
		for ; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			x.put(d, max(0, x.at(d)-y.at(d)))
		}
	}
}

// SetLesser makes x the lesser of y and z in each dimension of y, with the
// presence of y: the part of y that can be taken out of z.
func (x Vector) SetLesser(y, z Vector) {
	copy(x.present(), y.present())
	for d := range x.Len() {
		x.put(d, min(y.at(d), z.at(d)))
	}
}

// SetExceeded makes x the part of y that exceeds z; only scalars that do exceed
// are present after (api.ExceededPart).
func (x Vector) SetExceeded(y, z Vector) {
	clear(x.present())
	x.words[0] = always
	for d := range x.Len() {
		excess := y.at(d) - z.at(d)
		if excess > 0 {
			x.words[d>>6] |= 1 << (d & 63)
		}
		x.put(d, max(0, excess))
	}
}

// Scale multiplies every quantity (api.Resource.Multi).
func (x Vector) Scale(ratio float64) {
	for d := range x.Len() {
		x.put(d, x.at(d)*ratio)
	}
}

// CapTo lowers each present dimension of x to that of limit, where limit has
// it; what limit does not name stays as it is
// (api.Resource.MinDimensionResource with Infinity).
func (x Vector) CapTo(limit Vector) {
	for w, word := range x.present() {
		for word &= limit.words[w]; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			x.put(d, min(x.at(d), limit.at(d)))
		}
	}
}

// CapToZero lowers each present dimension of x to that of limit; what limit
// does not name becomes 0, and stays present
// (api.Resource.MinDimensionResource with Zero).
func (x Vector) CapToZero(limit Vector) {
	for d := range x.Len() {
		x.put(d, min(x.at(d), limit.at(d)))
	}
}

// RaiseTo raises each dimension of x to at least that of floor; what is present
// in either is present after (helpers.Max).
func (x Vector) RaiseTo(floor Vector) {
	for w, word := range floor.present() {
		x.words[w] |= word
		for ; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			x.put(d, max(x.at(d), floor.at(d)))
		}
	}
}

// InheritFrom fills in what x does not set: cpu and memory where they are 0 or
// less, scalars where they are absent (capacity.go, checkHierarchicalQueue).
func (x Vector) InheritFrom(parent Vector) {
	for d := int(CPU); d <= int(Memory); d++ {
		if x.at(d) <= 0 {
			x.put(d, parent.at(d))
		}
	}
	for w, word := range parent.present() {
		word &^= x.words[w]
		x.words[w] |= word
		for ; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			x.put(d, parent.at(d))
		}
	}
}
