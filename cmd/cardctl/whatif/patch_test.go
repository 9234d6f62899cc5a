package whatif

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
)

func TestDeletion(t *testing.T) {
	for object, want := range map[string]string{
		"job/train":          "kubectl delete jobs.batch.volcano.sh train",
		"job/research/train": "kubectl delete jobs.batch.volcano.sh -n research train",
		"queue/lab":          "kubectl delete queues.scheduling.volcano.sh lab",
		"node/a":             "kubectl delete node a",
	} {
		assert.Equal(t, want, deletion(object))
	}
}

// TestRemovalWithoutName expects an error for the kind of an object alone.
func TestRemovalWithoutName(t *testing.T) {
	_, c := world(t, lending)
	for _, kind := range []string{"job", "queue", "node", "pod"} {
		change := Change{Remove: []string{kind}, Rights: Everything}
		_, err := Try(t.Context(), input.Parse("f", []byte(lending)), c, change, nil)
		require.ErrorIs(t, err, ErrRemoval, kind)
	}
}
