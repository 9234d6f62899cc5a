package constraint

import "github.com/capacity-card/capacity-card/fastres"

// Frames lends vectors and refusals to the goroutine that runs the session. A hook opens a frame, takes them, and
// closes the frame before it returns. None may be used after its frame is closed: the build with the tag "invariants"
// spoils the vectors of a closed frame. The memory stays for the next session.
type Frames struct {
	vectors  []fastres.Vector
	used     int
	length   int
	refusals []*Refusal
	refused  int
}

// Frame is the vectors and refusals that one hook took. The zero Frame is for other goroutines, and has refusals only.
type Frame struct {
	frames      *Frames
	from        int
	fromRefused int
}

// Reset gives the vectors of a session their length. All frames are closed.
func (f *Frames) Reset(length int) {
	if f.length != length {
		f.vectors = f.vectors[:0]
		f.length = length
	}
	f.used = 0
	f.refused = 0
}

// Open opens a frame within the frame that was opened last.
func (f *Frames) Open() Frame { return Frame{f, f.used, f.refused} }

// Vector returns a vector with arbitrary contents.
func (f Frame) Vector() fastres.Vector {
	s := f.frames
	if s.used == len(s.vectors) {
		s.vectors = append(s.vectors, fastres.NewVector(s.length))
	}
	s.used++
	return s.vectors[s.used-1]
}

// refusal returns a refusal with arbitrary contents.
func (f Frame) refusal() *Refusal {
	s := f.frames
	if s == nil {
		return &Refusal{}
	}

	if s.refused == len(s.refusals) {
		s.refusals = append(s.refusals, &Refusal{})
	}
	s.refused++
	return s.refusals[s.refused-1]
}

// Close ends the frame, and the frames within it.
func (f Frame) Close() {
	for _, x := range f.frames.vectors[f.from:f.frames.used] {
		spoil(x)
	}
	f.frames.used = f.from
	f.frames.refused = f.fromRefused
}
