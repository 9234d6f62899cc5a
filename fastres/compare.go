package fastres

import (
	"iter"
	"math/bits"
)

// The loops over the words of presence are written out, here and in vector.go. They run for each task and node, and a
// comparison of six dimensions takes twice as long with bitset.NextSet or an iterator.

// ignored are the scalars that comparisons of requests leave out: every task requests one
// pod (resource_info.go, ignoredScalarResources).
const ignored uint64 = 1 << Pods

// lessEqual reports whether x ≤ y with upstream's tolerance: x may exceed y by less than
// MinResource.
func lessEqual(x, y float64) bool { return x < y || x-y < MinResource && y-x < MinResource }

// counted returns the dimensions of presence word w that comparisons of requests include.
func (x Vector) counted(w int) uint64 {
	if w == 0 {
		return x.words[0] &^ ignored
	}

	return x.words[w]
}

// Equal reports whether x and y have the same quantities, exactly, and the same presence
// (equality.Semantic.DeepEqual of two api.Resource).
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

// LessEqual reports whether x ≤ y, with the tolerance MinResource, in every dimension that
// x names. A dimension that y does not name is 0 (api.Resource.LessEqual with Zero).
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

// Within reports whether x ≤ y, without tolerance, in every dimension that x names, including pods.
func (x Vector) Within(y Vector) bool {
	for w, word := range x.present() {
		for ; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			if x.at(d) > y.at(d) {
				return false
			}
		}
	}

	return true
}

// IsEmpty reports whether every dimension except pods is below MinResource
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

// Intersects reports whether some dimension, including pods, is at least MinResource in
// both vectors (api.Intersection).
func (x Vector) Intersects(y Vector) bool {
	for w, word := range x.present() {
		if x.intersects(y, w, word&y.words[w]) {
			return true
		}
	}

	return false
}

// IntersectsRequest reports whether some dimension, except pods, is at least MinResource
// in both vectors (api.IntersectionWithIgnoredScalarResources).
func (x Vector) IntersectsRequest(y Vector) bool {
	for w := range x.present() {
		if x.intersects(y, w, x.counted(w)&y.words[w]) {
			return true
		}
	}

	return false
}

// intersects reports whether some dimension of a presence word is at least MinResource in both vectors. The word has
// number w.
func (x Vector) intersects(y Vector, w int, word uint64) bool {
	for ; word != 0; word &= word - 1 {
		d := w<<6 + bits.TrailingZeros64(word)
		if x.at(d) >= MinResource && y.at(d) >= MinResource {
			return true
		}
	}

	return false
}

// Fits reports whether used + request ≤ limit, without tolerance, in every dimension that
// is requested: above 0 in request, except pods. A dimension that limit does not name is 0
// (api.Resource.LessEqualWithDimensionAndResourcesName).
func Fits(used, request, limit Vector) bool {
	for w := range request.present() {
		for word := request.counted(w); word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			quantity := request.at(d)
			if quantity > 0 && used.at(d)+quantity > limit.at(d) {
				return false
			}
		}
	}

	return true
}

// FitsNet reports whether request + used + reserved − returnable ≤ limit, without
// tolerance, in every dimension that is requested; see Fits.
func FitsNet(request, used, reserved, returnable, limit Vector) bool {
	for w := range request.present() {
		for word := request.counted(w); word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			quantity := request.at(d)
			if quantity > 0 && quantity+used.at(d)+reserved.at(d)-returnable.at(d) > limit.at(d) {
				return false
			}
		}
	}

	return true
}

// FitsSomewhere reports whether used + request ≤ limit, with the tolerance MinResource, in
// at least one dimension that is requested; see Fits. A dimension in which both sides are
// below MinResource does not count
// (api.Resource.LessEqualPartlyWithDimensionZeroFiltered).
func FitsSomewhere(used, request, limit Vector) bool {
	for w := range request.present() {
		for word := request.counted(w); word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			bound := limit.at(d)
			future := used.at(d) + request.at(d)
			counts := request.at(d) > 0 && (future >= MinResource || bound >= MinResource)
			if counts && lessEqual(future, bound) {
				return true
			}
		}
	}

	return false
}

// ExceedsSomewhere reports whether used > bound, without tolerance, in at least one
// dimension that is requested (see Fits) and bound. A dimension is bound if it is cpu or
// memory of at least MinResource, or a scalar that is present, even with 0
// (api.Resource.GreaterPartlyWithRelevantDimensions).
func ExceedsSomewhere(used, request, bound Vector) bool {
	for w := range request.present() {
		for word := request.counted(w) & bound.words[w]; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			if bound.binds(d) && request.at(d) > 0 && used.at(d) > bound.at(d) {
				return true
			}
		}
	}

	return false
}

// binds reports whether x bounds the dimension d, which is present in x. cpu and memory of 0 are no bound.
func (x Vector) binds(d int) bool { return Dim(d) > Memory || x.at(d) >= MinResource }

// ExceedsWith reports whether used + request > bound, with the tolerance MinResource, in at
// least one dimension that is requested and bound; see ExceedsSomewhere. Upstream has no
// such comparison.
func ExceedsWith(used, request, bound Vector) bool {
	for w := range request.present() {
		for word := request.counted(w) & bound.words[w]; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			quantity := request.at(d)
			if bound.binds(d) && quantity > 0 && !lessEqual(used.at(d)+quantity, bound.at(d)) {
				return true
			}
		}
	}

	return false
}

// MaxRatio returns the greatest used/bound over the dimensions in which bound is at least
// MinResource, and at least 0. It has no unit (helpers.Share over Resource.ResourceNames).
func MaxRatio(used, bound Vector) float64 {
	ratio := 0.0
	for w, word := range bound.present() {
		for ; word != 0; word &= word - 1 {
			d := w<<6 + bits.TrailingZeros64(word)
			if bound.at(d) >= MinResource {
				ratio = max(ratio, used.at(d)/bound.at(d))
			}
		}
	}

	return ratio
}

// Requested iterates over the dimensions above 0 in x, except pods.
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

// presentBut iterates over the present dimensions. It leaves out those in skip, which are of the first word.
func (x Vector) presentBut(skip uint64) iter.Seq[Dim] {
	return func(yield func(Dim) bool) {
		for w, word := range x.present() {
			if w == 0 {
				word &^= skip
			}

			for ; word != 0; word &= word - 1 {
				if !yield(Dim(w<<6 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}
