package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	alertsFile    = "../deploy/observability/alerts.yaml"
	dashboardFile = "../deploy/observability/dashboard.json"
)

// prometheusTool finds a program of Prometheus where make puts it, or else in the path.
func prometheusTool(t *testing.T, name string) string {
	t.Helper()
	for _, candidate := range []string{"../bin/prometheus/usr/bin/" + name, name} {
		if path, err := exec.LookPath(candidate); err == nil {
			path, err = filepath.Abs(path)
			require.NoError(t, err)
			return path
		}
	}
	t.Skipf("there is no %s: make prometheus gets it", name)
	return ""
}

// startPrometheus runs a Prometheus that scrapes and evaluates every second, with the alerting rules of deploy/ but that
// nothing has to last before it fires.
func startPrometheus(t *testing.T, metrics string) prometheus.API {
	t.Helper()
	directory := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(directory, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	rules := write("alerts.yaml", regexp.MustCompile(`(?m)^ +for: .*\n`).ReplaceAllString(string(read(t, alertsFile)), ""))
	host := strings.TrimSuffix(strings.TrimPrefix(metrics, "http://"), "/metrics")
	configuration := write("prometheus.yml", fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\n"+
		"scrape_configs:\n- {job_name: volcano-scheduler, static_configs: [{targets: [%q]}]}\n", rules, host))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close()) // it takes no listener, only an address

	log, err := os.Create(filepath.Join(directory, "log"))
	require.NoError(t, err)
	command := exec.Command(prometheusTool(t, "prometheus"), "--config.file="+configuration, "--storage.tsdb.path="+filepath.Join(directory, "data"),
		"--web.listen-address="+address, "--log.level=warn")
	command.Stdout, command.Stderr = log, log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // that it was killed
		require.NoError(t, log.Close())
		if t.Failed() {
			t.Logf("the log of Prometheus ends with\n%s", tail(string(read(t, log.Name())), 20))
		}
	})
	client, err := api.NewClient(api.Config{Address: "http://" + address})
	require.NoError(t, err)
	return prometheus.NewAPI(client)
}

// dashboard has the queries of Grafana's dashboard.
type dashboard struct {
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []struct {
		Title, Type string
		Targets     []struct{ Expr string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	require.NoError(t, json.Unmarshal(read(t, dashboardFile), &d))
	return d
}

// alerts are the names of the alerting rules.
func alerts(t *testing.T) (names []string) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []struct{ Alert string } }
	}
	require.NoError(t, yaml.Unmarshal(read(t, alertsFile), &file))
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			names = append(names, rule.Alert)
		}
	}
	require.NotEmpty(t, names)
	return names
}

// answers returns what is wrong with the answer to a query that should have data.
func answers(t *testing.T, p prometheus.API, query string) string {
	value, _, err := p.Query(t.Context(), query, time.Now())
	if err != nil {
		return err.Error()
	}
	vector, ok := value.(model.Vector)
	if !ok || len(vector) == 0 {
		return fmt.Sprintf("no data, but %v", value)
	}
	for _, sample := range vector {
		if sample.Value != sample.Value { // not a number
			return fmt.Sprintf("%v is no number", sample)
		}
	}
	return ""
}

// firing returns the alerts that fire, as "name queue resource".
func firing(t *testing.T, p prometheus.API) map[string]bool {
	all, err := p.Alerts(t.Context())
	if err != nil {
		return map[string]bool{err.Error(): true}
	}
	found := map[string]bool{}
	for _, alert := range all.Alerts {
		if alert.State == prometheus.AlertStateFiring {
			words := []string{string(alert.Labels["alertname"]), string(alert.Labels["queue_name"]), string(alert.Labels["resource"])}
			found[strings.Join(strings.Fields(strings.Join(words, " ")), " ")] = true
		}
	}
	return found
}

// TestObservability has a real Prometheus scrape the scheduler and answer every query of the dashboard and of the alerting
// rules. In a cluster where all is well no alert fires; then each comes to fire, and no other.
func TestObservability(t *testing.T) {
	output, err := exec.Command(prometheusTool(t, "promtool"), "check", "rules", alertsFile).CombinedOutput()
	require.NoError(t, err, string(output))
	c := plane(t, "nodes.yaml")
	c.send(t, render(t, "../deploy/observability"), "test", metav1.DryRunAll)
	p := startPrometheus(t, c.run(t, build(t, ours), exampleConfiguration(t)).Metrics)

	c.queue(t, "well", `{"NVIDIA-GeForce-RTX-4090-D": 2}`)
	c.submit(t, "well", "well", rtx4090D, 3)
	c.runs(t, "well", map[string]int{rtx4090D: 2}, 1)
	eventually(t, func(collect *assert.CollectT) {
		assert.Empty(collect, answers(t, p, `volcano_queue_request_scalar_resources{queue_name="well"} == 3000`))
	})
	eventually(t, func(collect *assert.CollectT) {
		rules, err := p.Rules(t.Context())
		if !assert.NoError(collect, err) || !assert.Len(collect, rules.Groups, 1) {
			return
		}
		for _, rule := range rules.Groups[0].Rules {
			assert.EqualValues(collect, prometheus.RuleHealthGood, rule.(prometheus.AlertingRule).Health)
		}
	})
	require.Empty(t, firing(t, p), "a queue that waits for more than its quota does not starve")

	// More quota than there is, a gang that is admitted and finds no nodes, a queue that has less than it deserves.
	c.queue(t, "oversold", `{"NVIDIA-H200": 100}`)
	c.submit(t, "oversold", "oversold", h200, 4)
	c.runs(t, "oversold", map[string]int{h200: 4}, 0)
	c.submit(t, "starves", "oversold", h200, 5, gang, requesting(`{"NVIDIA-H200": 5}`))
	c.runs(t, "starves", map[string]int{}, 5)
	c.queue(t, "bad", `{}`)
	c.setQuota(t, "bad", `{"NVIDIA-H800": 3.5}`)
	c.warned(t, "bad", "volcano.sh/card.quota")
	require.NoError(t, c.Kube.CoreV1().Nodes().Delete(t.Context(), "rtx4090d-1", metav1.DeleteOptions{}))

	eventually(t, func(collect *assert.CollectT) {
		assert.Equal(collect, map[string]bool{
			"CardQuotaOversubscribed " + h200:     true,
			"CardQuotaOversubscribed " + rtx4090D: true, // there are none of them any more
			"StockBelowAllocated " + rtx4090D:     true,
			"QueueStarving oversold " + h200:      true,
			"BadCardAnnotation bad":               true,
		}, firing(t, p))
	})
	for _, name := range alerts(t) {
		require.Contains(t, fmt.Sprint(firing(t, p)), name, "every alert is shown")
	}
	queryAll(t, p)
}

// queryAll has every query of the dashboard answered with data, for all queues and cards.
func queryAll(t *testing.T, p prometheus.API) {
	t.Helper()
	d := readDashboard(t)
	variables := strings.NewReplacer("$queue", ".+", "$card", ".+", "$__rate_interval", "1m")
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		parts := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(v.Definition)
		require.NotNil(t, parts, v.Definition)
		values, _, err := p.LabelValues(t.Context(), parts[2], []string{parts[1]}, time.Now().Add(-time.Minute), time.Now())
		require.NoError(t, err)
		require.NotEmpty(t, values, v.Name)
	}
	queries := 0
	for _, panel := range d.Panels {
		if panel.Type == "row" {
			continue
		}
		require.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			queries++
			eventually(t, func(collect *assert.CollectT) {
				assert.Empty(collect, answers(t, p, variables.Replace(target.Expr)), "%s: %s", panel.Title, target.Expr)
			})
		}
	}
	require.Greater(t, queries, 25)
}

// eventually waits until all assertions hold.
func eventually(t *testing.T, assertions func(*assert.CollectT)) {
	t.Helper()
	require.EventuallyWithT(t, assertions, patience, schedulePeriod)
}
