package world_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/plugin/internal/world"
)

// TestParseDeed reads commands. A deed prints the command that does it.
func TestParseDeed(t *testing.T) {
	for line, want := range map[string]world.Deed{
		"restart":           world.Restart{},
		"renew":             world.Renew{},
		"leave 3":           world.Leave{Cycles: 3},
		"wait 1m30s":        world.Wait{Time: 90 * time.Second},
		"scale job 4":       world.ScaleJob{Job: "job", Pods: 4},
		"delete-pod job-12": world.DeletePod{Job: "job", Pod: 12},
		"open-gates job":    world.OpenGates{Job: "job"},
		"delete-queue q":    world.DeleteQueue{Queue: "q"},
		"lose-node n":       world.LoseNode{Node: "n"},
		"remake-node n":     world.RemakeNode{Node: "n"},
		"replace-pods n":    world.ReplacePods{Node: "n"},
	} {
		t.Run(line, func(t *testing.T) {
			got, err := world.ParseDeed(line)
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
			_, err := world.ParseDeed(line)
			assert.Error(t, err)
		})
	}
}
