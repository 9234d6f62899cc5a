package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// used returns the usage of a queue in thousandths of H200. It is the value in the metrics after the scheduler has read
// the saved usage.
func (p *process) used(t *testing.T, queue string) (usage float64) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^volcano_queue_fair_share_usage\{queue_name="` + queue + `",resource="NVIDIA-H200"\} (\S+)$`)
	require.Eventually(t, func() bool {
		metrics := p.metrics(t)
		found := line.FindStringSubmatch(metrics)
		if found == nil || !strings.Contains(metrics, "volcano_fair_share_saved_timestamp_seconds ") {
			return false
		}
		var err error
		usage, err = strconv.ParseFloat(found[1], 64)
		require.NoError(t, err)
		return usage > 0
	}, patience, schedulePeriod)
	return usage
}

// TestUsageSurvivesTheLeader kills the scheduler that leads. The next one goes on with the usage that it saved, whereas
// without a history usage begins with the allocation of the queue. Then cardctl resets the usage while a scheduler
// runs.
func TestUsageSurvivesTheLeader(t *testing.T) {
	c := plane(t, "nodes.yaml")
	program := build(t, ours)
	configuration := exampleConfiguration(t)
	with := strings.Replace(configuration, "reclaimGangs: whole", "reclaimGangs: whole\n      fairShareHalfLife: 10h\n      stateSave: 1s", 1)
	require.NotEqual(t, configuration, with)
	leader := c.run(t, program, with, electing...)
	leader.logs(t, leads)
	c.queue(t, "fair", `{"NVIDIA-H200": 6}`)
	leader.cycles(t, 2)
	standby := c.run(t, program, with, electing...)
	c.submit(t, "runs", "fair", h200, 6)
	c.runs(t, "runs", map[string]int{h200: 6}, 0)
	before := leader.used(t, "fair")
	require.Less(t, before, 600.0, "6 cards for a minute of 10 hours")

	maps := c.Kube.CoreV1().ConfigMaps("volcano-system")
	require.Eventually(t, func() bool { // a scheduler of an earlier test may have saved earmarks there
		saved, err := maps.Get(t.Context(), "capacity-card-usage", metav1.GetOptions{})
		return err == nil && saved.Data["halfLife"] == "10h0m0s"
	}, patience, schedulePeriod)
	require.NoError(t, leader.Kill())
	after := standby.used(t, "fair")
	require.Less(t, after, 600.0, "without what was saved it is 6000")
	require.GreaterOrEqual(t, after, before)

	conf := filepath.Join(t.TempDir(), "scheduler.conf.yaml")
	require.NoError(t, os.WriteFile(conf, []byte(with), 0o600))
	output, err := exec.Command(build(t, cardctl), "usage", "reset", "fair", "--yes", "--kubeconfig", c.Kubeconfig(), "--scheduler-conf", conf).CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Contains(t, string(output), "usage of queue fair reset in ConfigMap volcano-system/capacity-card-usage")
	require.Eventually(t, func() bool { return standby.used(t, "fair") > 5990 }, patience, schedulePeriod, "what it has")

	require.NoError(t, maps.Delete(t.Context(), "capacity-card-usage", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool {
		_, err := maps.Get(t.Context(), "capacity-card-usage", metav1.GetOptions{})
		return err == nil
	}, patience, schedulePeriod, "the next save creates it again")
}

// TestBudgetSurvivesTheLeader uses up the budget of a queue, and kills the scheduler that leads when no pod of the
// queue runs any more. The next one admits no job either.
func TestBudgetSurvivesTheLeader(t *testing.T) {
	c := plane(t, "nodes.yaml")
	program := build(t, ours)
	configuration := exampleConfiguration(t)
	with := strings.Replace(configuration, "reclaimGangs: whole", "reclaimGangs: whole\n      stateSave: 1s", 1)
	require.NotEqual(t, configuration, with)
	leader := c.run(t, program, with, electing...)
	leader.logs(t, leads)
	c.queue(t, "granted", `{"NVIDIA-H200": 8}`)
	c.annotate(t, "granted", "volcano.sh/card.budget", `{"NVIDIA-H200": "0.004h/366d"}`)
	leader.cycles(t, 2)
	standby := c.run(t, program, with, electing...)
	c.submit(t, "runs", "granted", h200, 6)
	c.runs(t, "runs", map[string]int{h200: 6}, 0)
	line := regexp.MustCompile(`(?m)^volcano_queue_card_budget_used_hours\{queue_name="granted",resource="NVIDIA-H200"\} (\S+)$`)
	used := func(p *process) (hours float64) {
		if found := line.FindStringSubmatch(p.metrics(t)); found != nil {
			hours, _ = strconv.ParseFloat(found[1], 64)
		}
		return hours
	}
	require.Eventually(t, func() bool { return used(leader) >= 0.004 }, patience, schedulePeriod)
	until := time.Unix(0, 0).UTC().Add((time.Since(time.Unix(0, 0))/year + 1) * year).Format("2006-01-02T15:04Z")
	spent := "Queue <granted> has insufficient <NVIDIA-H200> budget: <0> of <0.004> card-hours are left until " + until
	c.submit(t, "late", "granted", h200, 1, requesting(`{"NVIDIA-H200": 1}`))
	c.refused(t, "late", spent)
	c.complete(t, "runs", 6)
	leader.cycles(t, 2)
	before := used(leader)
	require.NoError(t, leader.Kill())
	require.Eventually(t, func() bool { return used(standby) >= before-0.001 }, patience, schedulePeriod, "what was saved")
	c.submit(t, "later", "granted", h200, 1, requesting(`{"NVIDIA-H200": 1}`))
	c.refused(t, "later", spent)
	c.annotate(t, "granted", "volcano.sh/card.budget", `{"NVIDIA-H200": "0h/day"}`)
	c.misconfigured(t, "granted", `annotation volcano.sh/card.budget: "{\"NVIDIA-H200\": \"0h/day\"}" is not a JSON object of cards and hours per window, `+
		`such as {"NVIDIA-H200": "5000h/30d"}; the last good value stays in force`)
	c.annotate(t, "granted", "volcano.sh/card.budget", `{"NVIDIA-H200": "5000h/366d"}`)
	c.runs(t, "later", map[string]int{h200: 1}, 0)
}

// year is the longest window of a budget.
const year = 366 * 24 * time.Hour
