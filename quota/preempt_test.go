package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// preemption has the accounts of an index, with other quantities of allocated.
func preemption(ix *index.Index, allocated quota.View) quota.Preemption {
	return quota.Preemption{Index: ix, Allocated: allocated, Bound: &ix.RealCapability}
}

func TestPreemptive(t *testing.T) {
	tests := []struct {
		name    string
		queue   queue
		request res
		want    string
	}{
		{"under deserved", queue{bound: res{cpu: 100}, deserved: res{cpu: 50}, allocated: res{cpu: 10}},
			res{cpu: 10}, "Admitted at q"},
		{"exactly deserved", queue{bound: res{cpu: 100}, deserved: res{cpu: 50}, allocated: res{cpu: 40}},
			res{cpu: 10}, "Admitted at q"},
		{"over deserved by less than the tolerance", queue{bound: res{cpu: 100}, deserved: res{cpu: 50}, allocated: res{cpu: 40}},
			res{cpu: 10.05}, "Admitted at q"},
		{"over deserved", queue{bound: res{cpu: 100}, deserved: res{cpu: 50}, allocated: res{cpu: 40}},
			res{cpu: 11}, "OverDeserved at q"},
		{"under deserved in one of two dimensions",
			queue{bound: res{cpu: 100, gpu: 9}, deserved: res{cpu: 50, gpu: 4}, allocated: res{cpu: 50, gpu: 1}},
			res{cpu: 10, gpu: 1}, "Admitted at q"},
		{"under deserved in a dimension that is not requested",
			queue{bound: res{cpu: 100, gpu: 9}, deserved: res{cpu: 50, gpu: 4}, allocated: res{cpu: 50, gpu: 1}},
			res{cpu: 10}, "OverDeserved at q"},
		{"exactly the capability", queue{bound: res{cpu: 20}, deserved: res{cpu: 50}, allocated: res{cpu: 10}},
			res{cpu: 10}, "Admitted at q"},
		{"the tolerance does not apply to the capability", queue{bound: res{cpu: 20}, deserved: res{cpu: 50}, allocated: res{cpu: 10}},
			res{cpu: 10.05}, "OverQuota at q"},
		{"over capability in one of two dimensions",
			queue{bound: res{cpu: 100, gpu: 1}, deserved: res{cpu: 50, gpu: 4}, allocated: res{gpu: 1}},
			res{cpu: 10, gpu: 1}, "OverQuota at q"},
		{"over both: capability comes first", queue{bound: res{cpu: 20}, deserved: res{cpu: 15}, allocated: res{cpu: 10}},
			res{cpu: 20}, "OverQuota at q"},
		{"no deserved", queue{bound: res{cpu: 100}}, res{cpu: 10}, "OverDeserved at q"},
		{"pods do not count", queue{bound: res{cpu: 100}, deserved: res{pods: 100}}, res{cpu: 10, pods: 1}, "OverDeserved at q"},
		{"nothing requested", queue{bound: res{cpu: 100}, deserved: res{cpu: 50}}, res{}, "OverDeserved at q"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.queue.name = "q<parent"
			// The parent is above its bound and deserves nothing. It does not count.
			ix := session("root", queue{name: "root"}, queue{name: "parent", allocated: res{cpu: 5000}}, test.queue)
			assert.Equal(t, test.want, verdict(ix, preemption(ix, ix).Preemptive(lookup(t, ix, "q"), test.request.vector())))
		})
	}
}

func TestPreemptiveAllocatesNothing(t *testing.T) {
	ix := session("", queue{name: "q", bound: res{cpu: 9}, deserved: res{cpu: 9}})
	q, request := lookup(t, ix, "q"), res{cpu: 1, pods: 1}.vector()
	admitted := true
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		admitted = admitted && preemption(ix, ix).Preemptive(q, request).OK()
	}))
	assert.True(t, admitted)
}
