package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestClaimantIn reads the job of an eviction from the message that Volcano writes. A pod of another namespace does not
// name the job.
func TestClaimantIn(t *testing.T) {
	claimant := Claimant{Namespace: "team", PodGroup: "owner-1", UID: "1deb063b", Queue: "own"}
	for namespace, want := range map[string]Claimant{
		"team":  {Namespace: "team", PodGroup: "owner-1", Queue: "own"},
		"other": {UID: "1deb063b", Queue: "own"},
	} {
		message := "Pod is evicted, because of " + EvictionReason("reclaim", claimant, namespace)
		text, c := ClaimantIn(message)
		assert.Equal(t, "Pod is evicted, because of reclaim", text)
		assert.Equal(t, &want, c, namespace)
		if namespace == "other" {
			assert.NotContains(t, message, "owner-1")
			assert.NotContains(t, message, "team")
		}
	}

	text, c := ClaimantIn("Pod is evicted, because of enforce-quota")
	assert.Nil(t, c)
	assert.Equal(t, "Pod is evicted, because of enforce-quota", text)
}
