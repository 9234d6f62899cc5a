package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	clienttesting "k8s.io/client-go/testing"

	"volcano.sh/apis/pkg/client/clientset/versioned/fake"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// TestStatusOfQueues closes two sessions, and a third one a minute later. Without cardStatus, nothing is written.
func TestStatusOfQueues(t *testing.T) {
	for name, test := range map[string]struct {
		with framework.Arguments
		want []int // writes of each session
	}{
		"off": {framework.Arguments{}, []int{0, 0, 0}},
		"on":  {framework.Arguments{arguments.CardStatus: "1m"}, []int{1, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			c := testbed.NewScheduler(test.with)
			for i, after := range []time.Duration{0, 59 * time.Second, time.Second} {
				f := c.Open(t, lender().Pods("job", "own", "A", 1, 2), after)
				all := closeAndWrite(f)
				assert.Len(t, all, test.want[i], "session %d", i)
				for _, patch := range all {
					assert.Equal(t, "own", patch.GetName())
					assert.Contains(t, string(patch.GetPatch()), card.StatusKey)
				}
			}
		})
	}
}

// TestSimulationsWriteNoStatus has a session without a Kubernetes client, like the sessions of cardctl.
func TestSimulationsWriteNoStatus(t *testing.T) {
	s := lender()
	s.Arguments = framework.Arguments{arguments.CardStatus: "1m"}
	assert.Empty(t, closeAndWrite(s.Open(t)))
}

// closeAndWrite closes a session with a Queue object that has a UID, and returns the patches.
func closeAndWrite(f *testbed.Fixture) (all []clienttesting.PatchAction) {
	f.Queues["own"].Queue.UID = "7"
	memory := f.Own.Memory
	f.Close()
	memory.WaitForStatus()

	for _, action := range f.VCClient().(*fake.Clientset).Actions() {
		if patch, is := action.(clienttesting.PatchAction); is {
			all = append(all, patch)
		}
	}
	return all
}
