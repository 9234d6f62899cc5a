package workload

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestBacklog checks that the nodes have room for all jobs that arrive, and for none that waits.
func TestBacklog(t *testing.T) {
	b := Backlog{Part: 1}
	node := b.Cluster().Nodes[0].Allocatable
	for _, j := range b.Waiting(5000) {
		assert.Greater(t, j.Tasks[0].Request["cpu"], node["cpu"])
	}

	var cpu, pods int64
	arrivals := b.Arrivals()
	for _, a := range arrivals {
		assert.Equal(t, len(a.Job.Tasks), int(a.Job.MinMember))
		for _, task := range a.Job.Tasks {
			cpu += task.Request["cpu"]
			pods++
		}
	}
	assert.LessOrEqual(t, cpu, backlogNodes*node["cpu"])
	assert.LessOrEqual(t, pods, backlogNodes*node["pods"])
	assert.Equal(t, 15*time.Second, arrivals[len(arrivals)-1].At+backlogInterval)

	assert.Len(t, Backlog{Part: 10}.Waiting(1000), 100)
	assert.Len(t, Backlog{Part: 10}.Arrivals(), 150)
}
