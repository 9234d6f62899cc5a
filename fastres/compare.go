package fastres

import (
	"iter"
	"math/bits"
)

// ignored are the scalars that comparisons of requests pass over: every task
// asks for one pod (resource_info.go: ignoredScalarResources).
const ignored uint64 = 1 << Pods

// lessEqual is upstream's comparison with tolerance: x may exceed y by less
// than MinResource.
func lessEqual(x, y float64) bool { return x < y || x-y < MinResource && y-x < MinResource }

// counted are the dimensions of presence word w that comparisons of requests
// look at.
func (x Vector) counted(w int) uint64 {
	if w == 0 {
		return x.words[0] &^ ignored
	}
	return x.words[w]
}

// Equal reports whether quantities and presence are the same
// (equality.Semantic.DeepEqual on two api.Resource).
func (x Vector) Equal(y Vector) bool {
	for w, word := range x.present() {
		if word != y.words[w] {
			return false
		}
	}
	for d := range x.Len() {
		if x.at(d) != y.at(d) {
			return false
		}
	}
	return true
}

// LessEqual reports whether x ≤ y, with tolerance, in every dimension of x;
// what y does not name is 0 (api.Resource.LessEqual with Zero).
func (x Vector) LessEqual(y Vector) bool {
	for w, word := range x.present() {
		for ; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			if !lessEqual(x.at(d), y.at(d)) {
				return false
			}
		}
	}
	return true
}

// IsEmpty reports whether no dimension but pods reaches MinResource
// (api.Resource.IsEmpty).
func (x Vector) IsEmpty() bool {
	for w := range x.present() {
		for word := x.counted(w); word != 0; word &= word - 1 {
			if x.at(w<<6+bits.TrailingZeros64(word)) >= MinResource {
				return false
			}
		}
	}
	return true
}

// Intersects reports whether some dimension, pods included, reaches MinResource
// in both (api.Intersection).
func (x Vector) Intersects(y Vector) bool {
	for w, word := range x.present() {
		if x.intersects(y, w, word&y.words[w]) {
			return true
		}
	}
	return false
}

// IntersectsRequest is Intersects without pods
// (api.IntersectionWithIgnoredScalarResources).
func (x Vector) IntersectsRequest(y Vector) bool {
	for w := range x.present() {
		if x.intersects(y, w, x.counted(w)&y.words[w]) {
			return true
		}
	}
	return false
}

func (x Vector) intersects(y Vector, w int, word uint64) bool {
	for ; word != 0; word &= word - 1 {
		d := w<<6 + bits.TrailingZeros64(word)
		if x.at(d) >= MinResource && y.at(d) >= MinResource {
			return true
		}
	}
	return false
}

// Fits reports whether used + request ≤ limit, exactly, in every dimension that
// request asks for (api.Resource.LessEqualWithDimensionAndResourcesName).
func Fits(used, request, limit Vector) bool {
	for w := range request.present() {
		for word := request.counted(w); word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			if q := request.at(d); q > 0 && used.at(d)+q > limit.at(d) {
				return false
			}
		}
	}
	return true
}

// FitsNet is Fits for a sum of three: request + used + promised − returnable
// ≤ limit, in every dimension that request asks for.
func FitsNet(request, used, promised, returnable, limit Vector) bool {
	for w := range request.present() {
		for word := request.counted(w); word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			q := request.at(d)
			if q > 0 && q+used.at(d)+promised.at(d)-returnable.at(d) > limit.at(d) {
				return false
			}
		}
	}
	return true
}

// FitsSomewhere reports whether used + request ≤ limit, with tolerance, in at
// least one dimension that request asks for; dimensions in which both sides are
// below MinResource do not count
// (api.Resource.LessEqualPartlyWithDimensionZeroFiltered).
func FitsSomewhere(used, request, limit Vector) bool {
	for w := range request.present() {
		for word := request.counted(w); word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			q, bound := request.at(d), limit.at(d)
			future := used.at(d) + q
			if q > 0 && (future >= MinResource || bound >= MinResource) && lessEqual(future, bound) {
				return true
			}
		}
	}
	return false
}

// ExceedsSomewhere reports whether used > bound in at least one dimension that
// request asks for and bound has: cpu and memory of at least MinResource,
// scalars that are present, even with 0
// (api.Resource.GreaterPartlyWithRelevantDimensions).
func ExceedsSomewhere(used, request, bound Vector) bool {
	for w := range request.present() {
		for word := request.counted(w) & bound.words[w]; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			if bound.says(d) && request.at(d) > 0 && used.at(d) > bound.at(d) {
				return true
			}
		}
	}
	return false
}

// says reports whether x, a bound, says anything of d, which is present in it.
func (x Vector) says(d int) bool { return Dim(d) > Memory || x.at(d) >= MinResource }

// ExceedsWith reports whether used + request > bound, with tolerance, in at least
// one dimension that request asks for and bound has; see ExceedsSomewhere.
func ExceedsWith(used, request, bound Vector) bool {
	for w := range request.present() {
		for word := request.counted(w) & bound.words[w]; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			if q := request.at(d); bound.says(d) && q > 0 && !lessEqual(used.at(d)+q, bound.at(d)) {
				return true
			}
		}
	}
	return false
}

// MaxRatio is the greatest used/bound over the dimensions in which bound
// reaches MinResource, at least 0 (helpers.Share over Resource.ResourceNames).
func MaxRatio(used, bound Vector) float64 {
	ratio := 0.0
	for w, word := range bound.present() {
		for ; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			if b := bound.at(d); b >= MinResource {
				if r := used.at(d) / b; r > ratio {
					ratio = r
				}
			}
		}
	}
	return ratio
}

// Requested iterates over the dimensions that x asks for, pods aside.
func (x Vector) Requested() iter.Seq[Dim] {
	return func(yield func(Dim) bool) {
		for w := range x.present() {
			for word := x.counted(w); word != 0; word &= word - 1 {
				d := w<<6 + bits.TrailingZeros64(word)
				if x.at(d) > 0 && !yield(Dim(d)) {
					return
				}
			}
		}
	}
}

// Present iterates over the dimensions that are present in x.
func (x Vector) Present() iter.Seq[Dim] { return x.presentBut(0) }

// Scalars iterates over the scalars that are present in x.
func (x Vector) Scalars() iter.Seq[Dim] { return x.presentBut(always) }

// presentBut leaves out some of the first word's dimensions.
func (x Vector) presentBut(not uint64) iter.Seq[Dim] {
	return func(yield func(Dim) bool) {
		for w, word := range x.present() {
			if w == 0 {
				word &^= not
			}
			for ; word != 0; word &= word - 1 {
				if !yield(Dim(w<<6 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}
