package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
)

// TestDocuments expects the version and the kind in the document of each command.
func TestDocuments(t *testing.T) {
	for command, kind := range map[string]string{
		"audit":                      "Audit",
		"budget":                     "BudgetList",
		"cards":                      "Stock",
		"explain":                    "ExplanationList",
		"explain setting card.quota": "SettingList",
		"preflight":                  "Preflight",
		"simulate --remove job/tune": "Comparison",
		"top":                        "QueueList",
		"top --by namespace":         "HolderList",
		"usage":                      "UsageList",
		"validate":                   "IssueList",
	} {
		_, stdout, stderr := run("", append(strings.Fields(command), "-o", "json", "-f", "../../../examples/cardctl")...)
		var head document.Head
		require.NoError(t, json.Unmarshal([]byte(stdout), &head), "%s: %s", command, stderr)
		assert.Equal(t, document.Of(kind), head, command)
	}
}

// TestNamesAreOfObjects refuses -o name for output that is no object of the cluster.
func TestNamesAreOfObjects(t *testing.T) {
	for command, kind := range map[string]string{"top --by user": "HolderList", "explain setting card.quota": "SettingList"} {
		status, stdout, stderr := run("", append(strings.Fields(command), "-o", "name", "-f", "../../../examples/cardctl")...)
		assert.Equal(t, 2, status, command)
		assert.Empty(t, stdout, command)
		assert.Contains(t, stderr, kind, command)
	}
}
