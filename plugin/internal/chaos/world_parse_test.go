package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestParseDeed reads commands. A deed prints the command that does it.
func TestParseDeed(t *testing.T) {
	for line, want := range map[string]Deed{
		"restart":           Restart{},
		"renew":             Renew{},
		"leave 3":           Leave{Cycles: 3},
		"wait 1m30s":        Wait{Time: 90 * time.Second},
		"scale job 4":       ScaleJob{Job: "job", Pods: 4},
		"delete-pod job-12": DeletePod{Job: "job", Pod: 12},
		"open-gates job":    OpenGates{Job: "job"},
		"delete-queue q":    DeleteQueue{Queue: "q"},
		"lose-node n":       LoseNode{Node: "n"},
		"remake-node n":     RemakeNode{Node: "n"},
		"replace-pods n":    ReplacePods{Node: "n"},
	} {
		t.Run(line, func(t *testing.T) {
			got, err := ParseDeed(line)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.Equal(t, line, got.String())
		})
	}
}

func TestParseDeedFails(t *testing.T) {
	for name, line := range map[string]string{
		"no such command":        "fly",
		"no number":              "scale job many",
		"no pod of a job":        "delete-pod job",
		"no duration":            "wait long",
		"a word that is missing": "delete-queue",
		"a word too many":        "restart now",
		"no such field of jobs":  "job j queue=q colour=red",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseDeed(line)
			assert.Error(t, err)
		})
	}
}
