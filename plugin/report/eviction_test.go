package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestClaimantIn reads the job of an eviction from the message that Volcano writes.
func TestClaimantIn(t *testing.T) {
	message := "Pod is evicted, because of " + EvictionReason("reclaim", "team/owner-1", "own")
	text, namespace, podGroup, queue, known := ClaimantIn(message)
	assert.True(t, known)
	assert.Equal(t, []string{"Pod is evicted, because of reclaim", "team", "owner-1", "own"}, []string{text, namespace, podGroup, queue})

	text, _, _, _, known = ClaimantIn("Pod is evicted, because of enforce-quota")
	assert.False(t, known)
	assert.Equal(t, "Pod is evicted, because of enforce-quota", text)
}
