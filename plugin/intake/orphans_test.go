package intake

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// TestOrphansAreOfTheLastSession keeps the jobs that had cards on nodes in the last session, and forgets the jobs of
// earlier sessions.
func TestOrphansAreOfTheLastSession(t *testing.T) {
	var o orphans
	for _, ids := range [][]api.JobID{{"ns/a", "ns/b"}, {"ns/b"}, nil} {
		var of tally
		for _, id := range ids {
			of.onNodes = append(of.onNodes, &api.JobInfo{UID: id, Queue: "q"})
		}
		o.keep([]tally{of})
		assert.Len(t, o.placed, len(ids))
		for _, id := range ids {
			assert.Contains(t, o.placed, id)
		}
	}
}
