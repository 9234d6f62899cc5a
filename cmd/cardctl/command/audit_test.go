package command

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/capacity-card/capacity-card/plugin/store"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// audited is a cluster with something of all that an audit finds. auditedUse is the usage that its scheduler has saved.
const (
	audited    = "../../../examples/audit"
	auditedUse = audited + "/usage.yaml"
)

// TestAuditedUse writes the usage of examples/audit. The record covers 20 days; language has had nothing of H100 in
// them, and little of H200 long ago.
func TestAuditedUse(t *testing.T) {
	if !*update {
		t.Skip("only with -update")
	}
	known := 1 - usage.Decay(20*24*time.Hour, 72*time.Hour)
	record := usage.Record{Columns: []usage.Column{{Name: "NVIDIA-H200", Card: true}, {Name: "NVIDIA-H100", Card: true}}, Known: []float64{known, known},
		Root: "root", Queues: map[string]usage.QueueRecord{}}
	for name, cards := range map[string]float64{"root": 11.004, "research": 6.004, "vision": 6, "language": 0.004, "serving": 1, "spare": 4} {
		parent := map[string]string{"root": "", "vision": "research", "language": "research"}
		of := usage.QueueRecord{Parent: "root", Usage: []float64{1000 * cards, 0}, Known: known}
		if above, given := parent[name]; given {
			of.Parent = above
		}
		record.Queues[name] = of
	}
	all, err := store.Write(types.NamespacedName{Namespace: "volcano-system", Name: "capacity-card-usage"},
		&store.Stored{Record: store.Record{Record: record}, Saved: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC), HalfLife: 72 * time.Hour}, "scheduler")
	require.NoError(t, err)
	all[0].APIVersion, all[0].Kind = "v1", "ConfigMap"
	text, err := yaml.Marshal(all[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(auditedUse, text, 0o600))
}

func TestAudit(t *testing.T) {
	for name, test := range map[string]struct {
		arguments, out, stderr string
		code                   int
	}{
		"one queue":         {"audit serving -f " + audited, "Findings: 4.", "", 0},
		"as JSON":           {"audit -o json -f " + audited, `"halfLife": "72h0m0s"`, "", 0},
		"more days":         {"audit --days 30 -f " + audited, "The use of 7 is not: the record covers less, at most 480h of it", "", 0},
		"no such queue":     {"audit visio -f " + audited, "", `no queue "visio" in the input; did you mean "vision"?`, 2},
		"no days":           {"audit --days 0 -f " + audited, "", "--days 0: a number from 1 to 366", 2},
		"nothing is stored": {"audit -f " + audited + "/cluster.yaml", "There is no record of use over time: ConfigMap volcano-system/capacity-card-usage", "", 0},
		"nothing is kept":   {"audit -f " + budgeted, "There is no record of use over time: the scheduler keeps none: the argument fairShareHalfLife is not set.", "", 0},
		"what idles now":    {"audit -f " + budgeted, "14 of its guarantee of 16 idles now; the time before is not known", "", 0},
		"an older record":   {"audit -f " + fair, "The use of 6 is not: the record covers less, at most 0s of it, or is of a release that did not keep when it began.", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := run("", strings.Fields(test.arguments)...)
			assert.Equal(t, test.code, code, stderr)
			assert.Contains(t, out, test.out)
			assert.Contains(t, stderr, test.stderr)
		})
	}
	_, out, _ := run("", "audit", "-f", audited+"/cluster.yaml")
	assert.NotContains(t, out, "UnusedQuota", "nothing is known of the past")
}
