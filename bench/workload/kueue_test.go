package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestKueueRunner has the numbers that Kueue publishes.
func TestKueueRunner(t *testing.T) {
	c, all := KueueRunner{Part: 1}.Make()
	assert.Len(t, all, 15000)
	assert.Len(t, c.Leaves(), 30)

	cpus := int64(0)
	for i, a := range all {
		cpus += a.Job.Tasks[0].Request["cpu"] / 1000
		if i > 0 {
			assert.LessOrEqual(t, all[i-1].At, a.At, "jobs arrive in order")
		}
	}
	assert.EqualValues(t, 30*(350*1+100*5+50*20), cpus)

	_, tenth := KueueRunner{Part: 10}.Make()
	assert.Len(t, tenth, 1500)
}
