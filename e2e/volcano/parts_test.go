package volcano

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("update", false, "write the page")

// TestPageIsOfTheResults holds docs/volcano-e2e.md against the results.
func TestPageIsOfTheResults(t *testing.T) {
	t.Chdir("../..")
	if *rewrite {
		require.NoError(t, writePage())
	}
	want, err := renderPage(resultsDirectory)
	require.NoError(t, err)
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, want, string(got))
}

// trials returns the trials of two specs. One fails at first with our scheduler, and the other one is left out.
func trials(scheduler, outcome string) []finished {
	t := trial{suite: suite{name: "jobp"}, configuration: configurations[0], scheduler: scheduler}
	return []finished{{t, map[string]string{"job runs": outcome, "job mounts": leftOut}}}
}

// TestAttempts follows a spec that fails at first with one scheduler.
func TestAttempts(t *testing.T) {
	r := &results{volcano: "v1.14.1", kubernetes: "v1.34.1"}
	r.add(append(trials(upstream, passed), trials(ours, failed)...))
	assert.Equal(t, []string{"job runs"}, r.differing("jobp", "proportion"))
	assert.Equal(t, []string{"jobp, proportion: job runs"}, r.defects())
	r.add(append(trials(upstream, passed), trials(ours, passed)...))
	assert.Empty(t, r.defects())
	assert.Equal(t, outcome{"pp", "fp"}, r.row("jobp", "job runs").outcomes["proportion"])
	assert.Equal(t, outcome{leftOut, leftOut}, r.row("jobp", "job mounts").outcomes["proportion"])

	text, err := r.text()
	require.NoError(t, err)
	again, err := parseResults(text)
	require.NoError(t, err)
	same, err := again.text()
	require.NoError(t, err)
	assert.Equal(t, text, same)
}

// TestReplace runs a suite again in one configuration.
func TestReplace(t *testing.T) {
	old := &results{volcano: "v1.14.1", kubernetes: "v1.34.1"}
	old.row("jobp", "gone").outcomes["proportion"] = outcome{passed, failed}
	old.row("jobp", "job runs").outcomes["capacity"] = outcome{passed, passed}
	old.row("stress", "job runs").outcomes["proportion"] = outcome{failed, failed}
	fresh := &results{}
	fresh.add(append(trials(upstream, passed), trials(ours, passed)...))
	old.replace(fresh)
	text, err := old.text()
	require.NoError(t, err)
	assert.Equal(t, "suite\tVolcano v1.14.1 Kubernetes v1.34.1\tproportion\tcapacity\tcapacity-tree\tcapacity-first-tier\n"+
		"jobp\tjob mounts\to/o\t/\t/\t/\n"+
		"jobp\tjob runs\tp/p\tp/p\t/\t/\n"+
		"stress\tjob runs\tf/f\t/\t/\t/\n", text)
}

// TestOutcomes reads a report as Ginkgo writes it.
func TestOutcomes(t *testing.T) {
	report := `[{"SpecReports": [
		{"LeafNodeType": "It", "ContainerHierarchyTexts": ["Job", "scales"], "LeafNodeText": "up", "State": "passed"},
		{"LeafNodeType": "It", "ContainerHierarchyTexts": ["Job"], "LeafNodeText": "ends", "State": "timedout"},
		{"LeafNodeType": "It", "ContainerHierarchyTexts": ["Job"], "LeafNodeText": "ends", "State": "passed"},
		{"LeafNodeType": "It", "ContainerHierarchyTexts": ["Job"], "LeafNodeText": "flakes", "State": "skipped", "Failure": {"Message": "issue 911"}},
		{"LeafNodeType": "It", "ContainerHierarchyTexts": ["Job"], "LeafNodeText": "later", "State": "pending"},
		{"LeafNodeType": "It", "ContainerHierarchyTexts": ["Job"], "LeafNodeText": "not selected", "State": "skipped"},
		{"LeafNodeType": "It", "ContainerHierarchyTexts": ["MPI E2E Test"], "LeafNodeText": "runs", "State": "skipped"},
		{"LeafNodeType": "It", "ContainerHierarchyTexts": ["[sig-storage] volumes"], "LeafNodeText": "mount", "State": "skipped"},
		{"LeafNodeType": "BeforeSuite", "State": "passed"}
	]}]`
	got, err := outcomesOf("jobseq", []byte(report))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"Job scales up": passed, "Job ends": failed, "Job ends (2)": passed, "Job flakes": skipped, "Job later": skipped, "MPI E2E Test runs": leftOut,
	}, got)
	_, err = outcomesOf("jobseq", []byte("[]"))
	assert.ErrorContains(t, err, "no specs")
}

// TestPatternSelectsOne expects the regular expression of a spec to select no other one.
func TestPatternSelectsOne(t *testing.T) {
	assert.Regexp(t, pattern([]string{"Job ends (2)", "[Stress] Job runs"}), "Suite [Stress] Job runs")
	assert.Regexp(t, pattern([]string{"Job ends (2)"}), "Suite Job ends")
	assert.NotRegexp(t, pattern([]string{"Job ends"}), "Suite Job ends well")
}

// TestConfigurations reads the configuration of Volcano's CI from its module and expects one quota plugin in each.
func TestConfigurations(t *testing.T) {
	for name, want := range map[string]string{
		"proportion":          "  - name: proportion\n",
		"capacity":            "  - name: capacity\n",
		"capacity-tree":       "  - name: capacity\n    enableHierarchy: true\n",
		"capacity-first-tier": "  - name: capacity\n- plugins:\n",
	} {
		chosen, err := selected(configurations, name, func(c configuration) string { return c.name })
		require.NoError(t, err)
		text, err := chosen[0].text()
		require.NoError(t, err)
		assert.Contains(t, text, want)
		assert.Equal(t, name == "proportion", strings.Contains(text, "proportion"), text)
		assert.Contains(t, text, "predicate.DynamicResourceAllocationEnable: true")
	}
}

// TestTrialsSurviveTheirText passes a trial to another process and back.
func TestTrialsSurviveTheirText(t *testing.T) {
	want := runner{work: "/programs"}.trial(suites[0], configurations[1], ours, 2, "")
	got, err := parseTrial(want.String())
	require.NoError(t, err)
	assert.Equal(t, want.String(), got.String())
	assert.Equal(t, "/programs/vcctl", got.program("vcctl"))
	_, err = parseTrial("nothing,capacity,ours,/tmp")
	assert.ErrorContains(t, err, "names no suite")
}
