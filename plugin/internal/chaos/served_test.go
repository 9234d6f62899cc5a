package chaos

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// TestEqualPodsStandForEachOther has victims for one pod of a job, and places another pod of the job. In random worlds,
// the first pod counts as served if both pods request the same and the nodes have the same card (docs/spec/cards.md,
// "Pods are evicted for another one").
func TestEqualPodsStandForEachOther(t *testing.T) {
	const nodes = `
node a cards=A:4
node c cards=A:4
node b cards=B:4
queue q quota=A:9,B:9
`
	for _, of := range []struct {
		name, job, node string
		served          bool
	}{
		{"another user", "job j queue=q min=0 card=A pod.user=ann + card=A pod.user=bob", "c", true},
		{"another amount", "job j queue=q min=0 card=A + card=A gpus=2", "c", false},
		{"another card", "job j queue=q min=0 card=A|B + card=A", "b", false},
		{"another amount, on the node, below the minimum", "job j queue=q min=1 card=A + card=A gpus=2", "a", true},
	} {
		t.Run(of.name, func(t *testing.T) {
			w := newChaos(Config{Plugin: session.Name, Arguments: framework.Arguments{}})
			w.begin(deedsOf(t, nodes+of.job)...)
			j := w.Job("j")
			w.claims = []claimed{{cycle: w.Cycle, pod: j.Pods[1], node: "a"}}
			w.noteClaimServed(j, j.Pods[0], of.node)
			assert.Equal(t, of.served, w.claims[0].pod == j.Pods[0])
		})
	}
}
