package usage_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// TestNamespaces lets hours pass for a namespace. The half-life is an hour.
func TestNamespaces(t *testing.T) {
	one, two := usage.Member{Queue: "q", Namespace: "one"}, usage.Member{Queue: "q", Namespace: "two"}
	h, columns := &usage.History{}, []usage.Column{{Name: "A", Card: true}, {Name: "B", Card: true}}
	h.Bind(index.BuildTree([]index.Node{{Name: "q"}}, ""), columns)
	n := h.Namespaces()
	next := func(cards float64) {
		h.Advance(usage.Decay(time.Hour, time.Hour))
		n.Bind(columns)
		if cards > 0 {
			n.Hold(one, 0, 1000*cards)
		}
		n.Begin()
	}
	n.Bind(columns)
	next(8)
	assert.Equal(t, 8000.0, n.Average(one, 1, 0), "it begins with what it has")
	assert.Equal(t, 0.0, n.Average(two, 1, 0), "nobody knows it")
	next(0)
	assert.Equal(t, 8000.0, n.Average(one, 1, 0), "it had that until now")
	assert.Equal(t, 4000.0, n.Average(one, 0.5, 0), "past and present")
	next(0)
	assert.Equal(t, 4000.0, n.Average(one, 1, 0))

	again, err := usage.New(h.Record())
	require.NoError(t, err)
	again.Namespaces().Bind([]usage.Column{{Name: "C", Card: true}, {Name: "A", Card: true}})
	assert.Equal(t, 4000.0, again.Namespaces().Average(one, 1, 1), "in the column of A")
	assert.Equal(t, 0.0, again.Namespaces().Average(one, 1, 0))

	n.Hold(two, 0, 1000)
	n.Begin()
	h.Reset(0)
	assert.Equal(t, 0.0, n.Average(one, 1, 0), "forgotten")
	assert.Equal(t, 1000.0, n.Average(two, 1, 0), "what it has")

	three := usage.Member{Queue: "q", Namespace: "three"}
	n.Hold(three, 0, 6000)
	n.Begin()
	assert.Equal(t, 0.0, n.Average(three, 1, 0), "it has had nothing before")
	assert.Equal(t, 3000.0, n.Average(three, 0.5, 0))
	again.Namespaces().Hold(three, 1, 6000)
	again.Namespaces().Begin()
	assert.Equal(t, 0.0, again.Namespaces().Average(three, 1, 1), "nor does the record know it")

	n.Hold(three, 0, -7000)
	assert.Equal(t, 0.0, n.Average(three, 0, 0), "nobody has less than nothing")
	for range 40 {
		next(0)
	}
	assert.Nil(t, h.Record().Namespaces, "it had nothing for 40 half-lives")
}

// TestRecordOfNamespaces refuses records that no History wrote.
func TestRecordOfNamespaces(t *testing.T) {
	for text, row := range map[string][]float64{"has 2 values for 1 columns": {1, 2}, "has the usage -1": {-1}} {
		_, err := usage.New(usage.Record{Columns: []usage.Column{{Name: "A", Card: true}}, Namespaces: map[string]map[string][]float64{"q": {"one": row}}})
		assert.EqualError(t, err, "namespace one of queue q "+text)
	}
}
