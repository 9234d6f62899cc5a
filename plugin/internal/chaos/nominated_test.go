package chaos

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// TestDiscardedPlansNominate has a gang of two pods, and reclaim could serve only one of them. Volcano discards its
// plan and evicts nobody, but writes the node of the plan to status.nominatedNodeName. With cards, no pod is nominated.
func TestDiscardedPlansNominate(t *testing.T) {
	for _, of := range []struct {
		name, lends, own, pod string
	}{
		{"cpu", "capability=cpu:8", "capability=cpu:8 spec.deserved=cpu:4", "requests=cpu:4"},
		{"cards", "quota=A:8 deserved=A:0 guarantee=A:0", "quota=A:8 deserved=A:4 guarantee=A:0", "card=A gpus=4"},
	} {
		t.Run(of.name, func(t *testing.T) {
			defer testbed.OneAtATime()()
			resetVolcano()
			w := newChaos(Config{Plugin: session.CapacityName, Actions: []string{"enqueue", "allocate", "reclaim"}, Arguments: framework.Arguments{}})
			w.next(deedsOf(t, "node n1 cards=A:4 has=cpu:4,pods:100\nnode n2 cards=A:4 has=cpu:4,pods:100\n"+
				"queue lends "+of.lends+"\nqueue own "+of.own+"\njob borrowed queue=lends min=0 pods=2 "+of.pod), nil)
			w.begin(deedsOf(t, "job gang queue=own min=2 minResources=none pods=2 "+of.pod)...)
			c := w.open(nil)
			for _, action := range w.Actions {
				actionOf(action).Execute(c.Session)
			}
			job, nominated := c.jobOf(w.Job("gang")), []string{}
			for id := range job.Tasks {
				if _, _, node := job.TaskSchedulingReason(id); node != "" {
					nominated = append(nominated, node)
				}
			}
			framework.CloseSession(c.Session)
			assert.Empty(t, c.cache.Evicted)
			assert.Equal(t, of.name == "cards", len(nominated) == 0, "a plan is carried out as a whole, and nominates nobody where it cannot be")
		})
	}
}

// deedsOf reads the deeds before a cycle.
func deedsOf(t *testing.T, text string) (deeds []Deed) {
	t.Helper()
	script, err := ParseScript(text, nil)
	require.NoError(t, err)
	steps, err := script.Steps(nil)
	require.NoError(t, err)
	for _, step := range steps {
		deeds = append(deeds, step.Deed)
	}
	return deeds
}
