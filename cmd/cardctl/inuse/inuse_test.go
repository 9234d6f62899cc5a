package inuse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/plugin/settings"
)

const objects = `
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: root, annotations: {volcano.sh/inqueue-timeout: 30m}}
spec: {weight: 1}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: eng, annotations: {volcano.sh/inqueue-timeout: " 10m ", volcano.sh/max-jobs: "20"}}
spec: {weight: 1, parent: root}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: prod, annotations: {volcano.sh/inqueue-timeout: 0s}}
spec: {weight: 1, parent: eng}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: dev}
spec: {weight: 1, parent: eng}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  queue: dev
  tasks:
  - {name: a, template: {metadata: {annotations: {volcano.sh/card.name: A}}, spec: {containers: [{name: c, image: i}]}}}
  - {name: b, template: {metadata: {annotations: {volcano.sh/card.name: A}}, spec: {containers: [{name: c, image: i}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {volcano.sh/card.name: B}}
spec: {schedulerName: volcano, containers: [{name: c, image: i}]}
`

const configuration = `
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: capacity-card
    enableHierarchy: true
    arguments:
      reclaimGangs: whole
      cardGroups: {hopper: {A: 1}}
`

// TestUses finds values of settings: where they are set, inherited, and by default.
func TestUses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "objects.yaml")
	require.NoError(t, os.WriteFile(path, []byte(objects), 0o600))
	o, err := input.ReadFiles([]string{path}, false, nil, nil)
	require.NoError(t, err)
	c, err := engine.Configure(configuration)
	require.NoError(t, err)
	find := func(name string) settings.Setting { return settings.Named(name)[0] }

	for name, want := range map[string][]Use{
		"card.name": {{By: "Job", Value: "A", Objects: 2}, {By: "Pod", Value: "B", Objects: 1}},
		"user":      nil,
	} {
		assert.Equal(t, want, OfWorkloads(find(name), o), name)
	}

	for name, want := range map[string][]Use{
		"reclaimGangs":                   {{By: "capacity-card", Value: "whole"}},
		"cardGroups":                     {{By: "capacity-card", Value: `{"hopper":{"A":1}}`}},
		"terminatingCards":               {{By: "capacity-card", Value: "hold", From: "default"}},
		"podOwnerReferenceToServiceType": {{By: "capacity-card", Value: "none", From: "default"}},
	} {
		assert.Equal(t, want, OfArgument(find(name), c), name)
	}

	world, err := engine.Build(o)
	require.NoError(t, err)
	for name, want := range map[string][]Use{
		"inqueue-timeout": {{By: "root", Value: "30m"}, {By: "eng", Value: "10m"}, {By: "prod", Value: "0s"},
			{By: "dev", Value: "10m", From: "eng"}, {By: "default", Value: "30m", From: "root"}},
		"max-jobs":   {{By: "eng", Value: "20"}},
		"soft-quota": nil,
	} {
		assert.ElementsMatch(t, want, OfQueues(find(name), world, c), name)
	}

	flat, err := engine.Configure(strings.Replace(configuration, "enableHierarchy: true", "enableHierarchy: false", 1))
	require.NoError(t, err)
	assert.ElementsMatch(t, []Use{{By: "root", Value: "30m"}, {By: "eng", Value: "10m"}, {By: "prod", Value: "0s"},
		{By: "dev", Value: "30m", From: "root"}, {By: "default", Value: "30m", From: "root"},
	}, OfQueues(find("inqueue-timeout"), world, flat), "flat queues inherit from the root alone")
}

func TestUsesAsText(t *testing.T) {
	for want, use := range map[string]Use{
		"eng: 10m":                      {By: "eng", Value: "10m"},
		"dev: 10m (from queue eng)":     {By: "dev", Value: "10m", From: "eng"},
		"capacity-card: hold (default)": {By: "capacity-card", Value: "hold", From: "default"},
		"2 of kind Job: A":              {By: "Job", Value: "A", Objects: 2},
	} {
		assert.Equal(t, want, use.String())
	}
}
