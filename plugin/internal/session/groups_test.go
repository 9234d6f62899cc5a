package session

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// TestSeveralCardsOfAGroup has pods with two cards of a group. The group has room for either card of the second pod,
// but not for both.
func TestSeveralCardsOfAGroup(t *testing.T) {
	const slices = "nvidia.com/mig-1g.10gb"
	for quota, want := range map[string]int{`{"@g":3}`: 1, `{"@g":4}`: 2} {
		s := newScene().mixedNode("a", map[string]string{"nvidia.com/gpu.product": "A"}, workload.Resources{gpuName: 4, slices: 4}).
			queue("q", "", "quota", quota, "guarantee", `{"@g":0}`).pods("both", "q", "", 2, 1, members(0), func(j *workload.Job) {
			for i := range j.Tasks {
				j.Tasks[i].Request[slices] = 1
			}
		})
		s.arguments = framework.Arguments{"cardGroups": map[string]any{"g": map[string]any{"A": 1, "A/*": 1}}}
		f := s.open(t).schedule(t)
		assert.Len(t, f.cache.Bound, want, quota)
		if want == 1 {
			errors := ""
			for _, each := range f.job("both").NodesFitErrors {
				errors += each.Error()
			}
			assert.Contains(t, errors, "Queue <q> has insufficient <@g> quota: requested <2>, total would be <4>, but capability is <3> (A, A/mig-1g.10gb-mixed)")
		}
		f.close()
	}
}
