package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/quota"
)

func TestPreemptive(t *testing.T) {
	tests := []struct {
		name    string
		queue   queue
		request res
		want    string
	}{
		{"under deserved", queue{bound: res{cpu: 100}, deserved: res{cpu: 50}, allocated: res{cpu: 10}},
			res{cpu: 10}, "admitted"},
		{"exactly deserved", queue{bound: res{cpu: 100}, deserved: res{cpu: 50}, allocated: res{cpu: 40}},
			res{cpu: 10}, "admitted"},
		{"over deserved by less than the tolerance", queue{bound: res{cpu: 100}, deserved: res{cpu: 50}, allocated: res{cpu: 40}},
			res{cpu: 10.05}, "admitted"},
		{"over deserved", queue{bound: res{cpu: 100}, deserved: res{cpu: 50}, allocated: res{cpu: 40}},
			res{cpu: 11}, "over deserved at q"},
		{"under deserved in one of two dimensions",
			queue{bound: res{cpu: 100, gpu: 9}, deserved: res{cpu: 50, gpu: 4}, allocated: res{cpu: 50, gpu: 1}},
			res{cpu: 10, gpu: 1}, "admitted"},
		{"under deserved in a dimension that is not requested",
			queue{bound: res{cpu: 100, gpu: 9}, deserved: res{cpu: 50, gpu: 4}, allocated: res{cpu: 50, gpu: 1}},
			res{cpu: 10}, "over deserved at q"},
		{"capability first, exactly", queue{bound: res{cpu: 20}, deserved: res{cpu: 50}, allocated: res{cpu: 10}},
			res{cpu: 10}, "admitted"},
		{"capability first, without tolerance", queue{bound: res{cpu: 20}, deserved: res{cpu: 50}, allocated: res{cpu: 10}},
			res{cpu: 10.05}, "over quota at q"},
		{"capability holds in every dimension",
			queue{bound: res{cpu: 100, gpu: 1}, deserved: res{cpu: 50, gpu: 4}, allocated: res{gpu: 1}},
			res{cpu: 10, gpu: 1}, "over quota at q"},
		{"over both", queue{bound: res{cpu: 20}, deserved: res{cpu: 15}, allocated: res{cpu: 10}},
			res{cpu: 20}, "over quota at q"},
		{"no deserved", queue{bound: res{cpu: 100}}, res{cpu: 10}, "over deserved at q"},
		{"pods do not count", queue{bound: res{cpu: 100}, deserved: res{pods: 100}}, res{cpu: 10, pods: 1}, "over deserved at q"},
		{"nothing requested", queue{bound: res{cpu: 100}, deserved: res{cpu: 50}}, res{}, "over deserved at q"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.queue.name = "q<parent"
			// The parent is full, and deserves nothing: it must not be asked.
			ix := session("root", queue{name: "root"}, queue{name: "parent", allocated: res{cpu: 5000}}, test.queue)
			want := test.want
			if want == "admitted" {
				want = "admitted at q"
			}
			assert.Equal(t, want, verdict(ix, quota.Preemptive(ix, lookup(t, ix, "q"), test.request.vector())))
		})
	}
}

func TestPreemptiveAllocatesNothing(t *testing.T) {
	ix := session("", queue{name: "q", bound: res{cpu: 9}, deserved: res{cpu: 9}})
	q, request := lookup(t, ix, "q"), res{cpu: 1, pods: 1}.vector()
	admitted := true
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		admitted = admitted && quota.Preemptive(ix, q, request).OK()
	}))
	assert.True(t, admitted)
}
