package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// TestSeveralCardsOfAGroup has pods with two cards of a group. The group has room for either card of the second pod,
// but not for both.
func TestSeveralCardsOfAGroup(t *testing.T) {
	const slices = "nvidia.com/mig-1g.10gb"
	for quota, want := range map[string]int{`{"@g":3}`: 1, `{"@g":4}`: 2} {
		s := testbed.NewScene().MixedNode("a", map[string]string{"nvidia.com/gpu.product": "A"}, workload.Resources{testbed.GPU: 4, slices: 4}).
			Queue("q", "", "quota", quota, "guarantee", `{"@g":0}`).Pods("both", "q", "", 2, 1, testbed.Members(0), func(j *workload.Job) {
			for i := range j.Tasks {
				j.Tasks[i].Request[slices] = 1
			}
		})
		s.Arguments = framework.Arguments{"cardGroups": map[string]any{"g": map[string]any{"A": 1, "A/*": 1}}}
		f := s.Open(t).Schedule(t)
		assert.Len(t, f.Cache.Bound, want, quota)
		if want == 1 {
			errors := ""
			for _, each := range f.Job("both").NodesFitErrors {
				errors += each.Error()
			}
			assert.Contains(t, errors, "Queue <q> has insufficient <@g> quota: requested <2>, total would be <4>, but capability is <3> (A, A/mig-1g.10gb-mixed)")
		}
		f.Close()
	}
}

// TestGroupsByWeight has two queues of equal weight. Each deserves half of the cards, and half of a group that shares no
// card with another one. Groups that share cards only bound queues, so no queue deserves them.
func TestGroupsByWeight(t *testing.T) {
	for _, tree := range []string{"", "root"} {
		const quota, guarantee = `{"A":8,"B":8,"C":8}`, `{"A":0,"B":0,"C":0}`
		s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Node("c", "C", 8).
			Queue("q", tree, "quota", quota, "guarantee", guarantee).Queue("r", tree, "quota", quota, "guarantee", guarantee)
		if tree != "" {
			s.Queue("root", "")
		}
		s.Arguments = framework.Arguments{"deservedFrom": "weight", "cardGroups": map[string]any{
			"all": map[string]any{"A": 1, "B": 1}, "g": map[string]any{"A": 1}, "alone": map[string]any{"C": 1},
		}}
		f := s.Open(t)
		deserved := f.Own.Index.Deserved.Row(f.Own.Index.Lookup("q"))
		for name, want := range map[string]bool{"A": true, "@all": false, "@g": false, "@alone": true} {
			assert.Equal(t, want, deserved.Has(f.Dim(t, name)), "%s %s", tree, name)
		}
		assert.Equal(t, 4000.0, deserved.Get(f.Dim(t, "A")), tree)
	}
}
