package intake

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// TestNodes has nodes that leave and arrive, also at once. The first session has no node that has left.
func TestNodes(t *testing.T) {
	var n nodes
	for _, step := range []struct {
		names         string
		left, arrived bool
	}{
		{"a b", false, true},
		{"a b", false, false},
		{"b c", true, true},
		{"c", true, false},
		{"", true, false},
		{"", false, false},
		{"a c", false, true},
	} {
		ssn := &framework.Session{Nodes: map[string]*api.NodeInfo{}}
		for _, name := range strings.Fields(step.names) {
			ssn.Nodes[name] = &api.NodeInfo{}
		}
		n.update(ssn)
		assert.Equal(t, []bool{step.left, step.arrived}, []bool{n.left, n.arrived}, step.names)
		assert.Zero(t, testing.AllocsPerRun(10, func() { n.update(ssn) }), "the same nodes")
	}
}
