package admit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// fakeBounds say for which queue they are raised. Queue 0 is given nothing back.
type fakeBounds struct{ state string }

func (b *fakeBounds) Lower() { b.state = "plain" }

func (b *fakeBounds) Raise(q index.Queue, _ fastres.Vector) bool {
	b.state = fmt.Sprint("raised for ", q)
	return q != 0
}

func questionOf(q index.Queue) question { return question{job: &api.JobInfo{}, queue: q} }

// TestRaising has the transitions of the bounds of admission, one after the other.
func TestRaising(t *testing.T) {
	b := &fakeBounds{state: "plain"}
	r := raising{bounds: b}
	expect := func(state string, asks bool) {
		t.Helper()
		assert.Equal(t, state, b.state)
		assert.Equal(t, asks, r.asks())
	}

	r.suspend()
	r.resume()
	expect("plain", false) // nothing is asked

	first, some := r.ask(questionOf(1))
	assert.True(t, some)
	expect("raised for 1", true)

	r.suspend()
	expect("plain", true)
	second, some := r.ask(questionOf(2))
	assert.True(t, some)
	expect("raised for 2", true)
	r.answer(second)
	expect("raised for 1", true) // of the outer question
	r.resume()
	expect("raised for 1", true)

	b.state = "all raised"
	r.settle()
	expect("raised for 1", true)
	r.answer(first)
	expect("plain", false)

	b.state = "all raised"
	r.settle()
	expect("plain", false)
}

// TestNothingIsGivenBack asks for a job that is given nothing back.
func TestNothingIsGivenBack(t *testing.T) {
	r := raising{bounds: &fakeBounds{}}
	outer, some := r.ask(questionOf(0))
	assert.False(t, some)
	r.answer(outer)
	assert.False(t, r.asks())
}
