package input

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNegativeNumbers refuses numbers of pods below 0, each with its line, and reads the other objects.
func TestNegativeNumbers(t *testing.T) {
	o := readText(t, "a.yaml", `apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: -2147483648
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j, namespace: team}
spec:
  minAvailable: -1
  minSuccess: -2
  tasks:
  - {replicas: 1}
  - {replicas: -3,
     minAvailable: -4}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g}
spec:
  minMember: -5
  minTaskMember: {b: -7, a: -6}
  subGroupPolicy:
  - subGroupSize: -8
    minSubGroups: -9
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: none}
spec: {replicas: 0}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: of-a-cluster, uid: u}
spec: {replicas: -1}
`)
	assert.Equal(t, []string{
		"a.yaml:5: Deployment/d: spec.replicas: -2147483648 is negative",
		"a.yaml:11: Job/team/j: spec.minAvailable: -1 is negative",
		"a.yaml:12: Job/team/j: spec.minSuccess: -2 is negative",
		"a.yaml:15: Job/team/j: spec.tasks[1].replicas: -3 is negative",
		"a.yaml:16: Job/team/j: spec.tasks[1].minAvailable: -4 is negative",
		"a.yaml:22: PodGroup/g: spec.minMember: -5 is negative",
		"a.yaml:23: PodGroup/g: spec.minTaskMember.a: -6 is negative",
		"a.yaml:23: PodGroup/g: spec.minTaskMember.b: -7 is negative",
		"a.yaml:25: PodGroup/g: spec.subGroupPolicy[0].subGroupSize: -8 is negative",
		"a.yaml:26: PodGroup/g: spec.subGroupPolicy[0].minSubGroups: -9 is negative",
	}, problems(o))
	assert.Len(t, o.Deployments, 2)
}

// TestParseIsBounded refuses texts that become much larger when they are read.
func TestParseIsBounded(t *testing.T) {
	again := strings.Repeat
	const job = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\n"
	for name, text := range map[string]string{
		"tasks":                      job + "spec: {tasks: [" + again("{},", mostParts) + "]}",
		"documents":                  again("---\n{}\n", mostParts+1),
		"tasks in JSON":              `{"kind":"Job","spec":{"tasks":[{}` + again(",{}", mostParts) + "]}}",
		"items in JSON":              `{"kind":"List","items":[{}` + again(",{}", mostParts) + "]}",
		"an alias of a text":         job + "a: &a " + again("x", mostBytes/100) + "\nb: [" + again("*a,", 200) + "]",
		"an alias of a map":          job + "a: &a {b: {}}\nb: [" + again("*a,", mostParts) + "]",
		"aliases of aliases":         job + "a: &a [x,x]\n" + again("b: &b [*a,*a]\na: &a [*b,*b]\n", 40),
		"an alias within its anchor": job + "a: &a [*a]",
		"merged maps":                job + "a: &a {b: " + again("x", mostBytes/100) + "}\nb: [" + again("{<<: *a},", 200) + "]",
	} {
		o := Parse("m", []byte(text))
		require.Len(t, o.Problems, 1, name)
		assert.Contains(t, o.Problems[0].Message, errTooMuch.Error(), name)
		assert.Zero(t, o.Len(), name)
	}
	for name, text := range map[string]string{
		"a few aliases":    "x: &x {a: b}\n---\n" + job + "spec: &s {tasks: []}\nother: [*s,*s]\n",
		"a long text":      job + "note: " + again("x", mostBytes/2),
		"JSON with escape": `{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"\ud83d\ude00"}}`,
	} {
		assert.Equal(t, 1, Parse("m", []byte(text)).Len(), name)
	}
	for name, text := range map[string]string{"deep": job + "a: " + again("[", 100_000), "deep JSON": `{"a":` + again("[", mostParts-1)} {
		o := Parse("m", []byte(text))
		assert.Len(t, o.Problems, 1, name)
		assert.Zero(t, o.Len(), name)
	}
}
