package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

const dashboardFile = "../deploy/observability/dashboard.json"

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

// alertingRules returns the file of rules that docs/observability.md makes for a Prometheus without the operator.
func alertingRules(t *testing.T) []byte {
	t.Helper()
	rules, err := exec.Command("sed", "1,/^spec:/d; s/^  //", "../deploy/observability/prometheus/alerts.yaml").Output()
	require.NoError(t, err)
	return rules
}

// scrape returns the configuration of a Prometheus that scrapes and evaluates every second, with the alerting rules of
// deploy/ but that nothing has to last before it fires.
func scrape(t *testing.T, metrics string) string {
	t.Helper()
	rules := filepath.Join(t.TempDir(), "alerts.yaml")
	require.NoError(t, os.WriteFile(rules, regexp.MustCompile(`(?m)^ +for: .*\n`).ReplaceAll(alertingRules(t), nil), 0o600))
	host := strings.TrimSuffix(strings.TrimPrefix(metrics, "http://"), "/metrics")
	return fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\n"+
		"scrape_configs:\n- {job_name: volcano-scheduler, static_configs: [{targets: [%q]}]}\n", rules, host)
}

// startPrometheus runs a Prometheus with a configuration, on the blocks that are in the directory data.
func startPrometheus(t *testing.T, configuration, data string) prometheus.API {
	t.Helper()
	directory := t.TempDir()
	file := filepath.Join(directory, "prometheus.yml")
	require.NoError(t, os.WriteFile(file, []byte(configuration), 0o600))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close()) // it takes no listener, only an address

	log, err := os.Create(filepath.Join(directory, "log"))
	require.NoError(t, err)
	command := exec.Command(prometheusTool(t, "prometheus"), "--config.file="+file, "--storage.tsdb.path="+data,
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
		GridPos     struct{ W int }
		Targets     []target
		FieldConfig struct {
			Defaults struct {
				Unit, NoValue string
				Custom        struct {
					MinWidth          int
					ScaleDistribution struct{ Type string }
				}
			}
			Overrides []struct {
				Matcher    struct{ Options string }
				Properties []struct {
					ID    string
					Value any
				}
			}
		}
		Transformations []struct {
			Options struct{ RenameByName map[string]string }
		}
	}
}

// target is a query of a panel. Without instant it is a query over the time range that is shown.
type target struct {
	Expr, LegendFormat string
	Instant            bool
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	require.NoError(t, json.Unmarshal(read(t, dashboardFile), &d))
	return d
}

// answers returns the problem of the answer to a query that should have data.
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

// TestAlertRules runs the cases of testdata/alerts.yaml. There is a case in which each alert fires, and one in which it
// does not.
func TestAlertRules(t *testing.T) {
	directory := t.TempDir()
	cases := read(t, "testdata/alerts.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(directory, "rules.yaml"), alertingRules(t), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "cases.yaml"), cases, 0o600))
	promtool := func(arguments ...string) {
		command := exec.Command(prometheusTool(t, "promtool"), arguments...)
		command.Dir = directory
		output, err := command.CombinedOutput()
		require.NoError(t, err, string(output))
	}
	promtool("check", "rules", "rules.yaml")
	promtool("test", "rules", "cases.yaml")

	var rules struct {
		Groups []struct{ Rules []struct{ Alert string } }
	}
	require.NoError(t, yaml.Unmarshal(alertingRules(t), &rules))
	var tests struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []any `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	require.NoError(t, yaml.Unmarshal(cases, &tests))
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range tests.Tests {
		for _, each := range test.AlertRuleTest {
			fires[each.Alertname] = fires[each.Alertname] || len(each.ExpAlerts) > 0
			silent[each.Alertname] = silent[each.Alertname] || len(each.ExpAlerts) == 0
		}
	}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			require.True(t, fires[rule.Alert], "no case in which %s fires", rule.Alert)
			require.True(t, silent[rule.Alert], "no case in which %s does not fire", rule.Alert)
		}
	}
}

// serviceMonitor is the part of the operator's kind that the manifest sets.
type serviceMonitor struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Spec            struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port     string `json:"port"`
			Path     string `json:"path"`
			Interval string `json:"interval"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// TestServiceMonitor finds the scheduler's Service, ours and Volcano's own, and a port of it.
func TestServiceMonitor(t *testing.T) {
	objects := render(t, "../deploy/observability/prometheus")
	require.Len(t, objects, 2)
	monitor := find[serviceMonitor](t, objects, "ServiceMonitor")
	require.Len(t, monitor.Spec.Endpoints, 1)
	selector, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
	require.NoError(t, err)
	for _, installation := range [][]*unstructured.Unstructured{render(t, "../deploy/drop-in"), upstreamScheduler(t)} {
		service := find[corev1.Service](t, installation, "Service")
		require.Equal(t, monitor.Metadata.Namespace, service.Namespace)
		require.True(t, selector.Matches(labels.Set(service.Labels)), service.Labels)
		require.Equal(t, service.Annotations["prometheus.io/path"], monitor.Spec.Endpoints[0].Path)
		require.True(t, slices.ContainsFunc(service.Spec.Ports, func(port corev1.ServicePort) bool {
			return port.Name == monitor.Spec.Endpoints[0].Port
		}), service.Spec.Ports)
	}
}

// TestObservability has a real Prometheus scrape the scheduler and answer every query of the dashboard and of the
// alerting rules. At first only CardOversubscribed fires, for a quota above the cards of the cluster. Then the alerts
// on cards, starving queues and annotations fire, and no other alert. SchedulerDown fires when the scheduler is killed.
func TestObservability(t *testing.T) {
	c := plane(t, "nodes.yaml")
	c.send(t, render(t, "../deploy/observability"), "test", metav1.DryRunAll)
	configuration := exampleConfiguration(t)
	fair := strings.Replace(configuration, "reclaimGangs: whole", "reclaimGangs: whole\n      fairShareHalfLife: 1h\n      stateSave: 1s", 1)
	require.NotEqual(t, configuration, fair)
	scheduler := c.run(t, build(t, ours), fair)
	p := startPrometheus(t, scrape(t, scheduler.Metrics), t.TempDir())

	c.queue(t, "well", `{"NVIDIA-GeForce-RTX-4090-D": 2}`)
	c.submit(t, "well", "well", rtx4090D, 3)
	c.runs(t, "well", map[string]int{rtx4090D: 2}, 1)
	c.queue(t, "full", `{"Ascend-910B": 100}`)
	c.submit(t, "full", "full", ascend, 9)
	c.runs(t, "full", map[string]int{ascend: 8}, 1)
	eventually(t, func(collect *assert.CollectT) {
		assert.Empty(collect, answers(t, p, `volcano_queue_request_scalar_resources{queue_name="well"} == 3000`))
		assert.Empty(collect, answers(t, p, `volcano_queue_request_scalar_resources{queue_name="full"} == 9000`))
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
	eventually(t, func(collect *assert.CollectT) {
		assert.Equal(collect, map[string]bool{"CardOversubscribed " + ascend: true}, firing(t, p),
			"a queue does not starve that waits for more than its quota, or for more than the cluster has")
	})

	makeAlertsFire(t, c)
	eventually(t, func(collect *assert.CollectT) {
		assert.Equal(collect, map[string]bool{
			"CardOversubscribed " + ascend:    true,
			"CardOversubscribed " + h200:      true,
			"CardOversubscribed " + rtx4090D:  true, // there are none of them any more
			"StockBelowAllocated " + rtx4090D: true,
			"QueueStarving oversold " + h200:  true,
			"QueueStarving lender " + h800:    true,
			"BadCardAnnotation bad":           true,
		}, firing(t, p))
	})
	assert.Empty(t, answers(t, p, `volcano_queue_waiting_jobs{queue_name="oversold", rule="OverQuota", level="oversold", resource="NVIDIA-H200"} == 1`))
	queryAll(t, p)

	require.NoError(t, scheduler.Kill())
	eventually(t, func(collect *assert.CollectT) {
		assert.Equal(collect, map[string]bool{"SchedulerDown": true}, firing(t, p))
	})
}

// makeAlertsFire has more quota than there is, a gang that is admitted and finds no nodes, queues that have less than
// they deserve, a job above its quota, a budget, a window, a bad annotation, and a node that is lost.
func makeAlertsFire(t *testing.T, c *cluster) {
	t.Helper()
	c.queue(t, "oversold", `{"NVIDIA-H200": 100}`)
	c.annotate(t, "oversold", "volcano.sh/card.budget", `{"NVIDIA-H200": "100000h/30d"}`)
	c.annotate(t, "oversold", "volcano.sh/override", `[{"from": "2020-01-01T00:00Z", "until": "2120-01-01T00:00Z", "card.quota": {"NVIDIA-H200": 100}}]`)
	c.submit(t, "oversold", "oversold", h200, 4)
	c.runs(t, "oversold", map[string]int{h200: 4}, 0)
	c.submit(t, "starves", "oversold", h200, 5, gang, requesting(`{"NVIDIA-H200": 5}`))
	c.runs(t, "starves", map[string]int{}, 5)
	c.submit(t, "greedy", "oversold", h200, 200, gang, requesting(`{"NVIDIA-H200": 200}`))
	c.refused(t, "greedy", insufficient("oversold", h200, 200, 206, 100))

	// The lender keeps waiting for cards that the borrower does not have to give back.
	c.queue(t, "borrower", `{"NVIDIA-H800": 8}`)
	c.annotate(t, "borrower", "volcano.sh/card.deserved", `{"NVIDIA-H800": 0}`)
	c.annotate(t, "borrower", "volcano.sh/card.guarantee", `{"NVIDIA-H800": 0}`)
	c.submit(t, "borrows", "borrower", h800, 8, func(job *batch.Job) {
		job.Spec.Tasks[0].Template.Annotations["volcano.sh/preemptable"] = "false"
	})
	c.runs(t, "borrows", map[string]int{h800: 8}, 0)
	c.queue(t, "lender", `{"NVIDIA-H800": 8}`)
	c.annotate(t, "lender", "volcano.sh/card.guarantee", `{"NVIDIA-H800": 0}`)
	c.submit(t, "wants-back", "lender", h800, 2)
	c.runs(t, "wants-back", map[string]int{}, 2)
	c.submit(t, "greedier", "lender", h800, 20, gang, requesting(`{"NVIDIA-H800": 20}`)) // a second cause, which is among the others

	// Admitted one by one, so that rates see the histogram of a queue grow; the last one has a pod above the quota.
	for _, name := range []string{"first", "second", "third"} {
		c.cpuJob(t, name, "well", "1", "1Gi")
		c.runs(t, name, map[string]int{"": 1}, 0)
	}
	c.submit(t, "half", "well", "", 2, func(job *batch.Job) {
		template := &job.Spec.Tasks[0].Template
		template.Annotations = nil
		template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("512Mi"),
		}}
	})
	c.runs(t, "half", map[string]int{"": 1}, 1)

	c.queue(t, "bad", `{}`)
	c.setQuota(t, "bad", `{"NVIDIA-H800": 3.5}`)
	c.warned(t, "bad", "volcano.sh/card.quota")
	require.NoError(t, c.Kube.CoreV1().Nodes().Delete(t.Context(), "rtx4090d-1", metav1.DeleteOptions{}))
}

// queryAll has every query of the dashboard answered with data, for all queues and cards, and one line in a graph, so
// that there are others.
func queryAll(t *testing.T, p prometheus.API) {
	t.Helper()
	d := readDashboard(t)
	variables := strings.NewReplacer("$queue", ".+", "$department", ".*", "$card", ".+", "$leaf", "1", "$top", "1", "$rows", "100", "$__rate_interval", "1m", "$__range", "5m")
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		parts := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(v.Definition)
		require.NotNil(t, parts, v.Definition)
		values, _, err := p.LabelValues(t.Context(), parts[2], []string{parts[1]}, time.Now().Add(-time.Minute), time.Now())
		require.NoError(t, err)
		require.Equal(t, v.Name == "department", len(values) == 0, "%s; the queues are flat", v.Name)
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
	require.Greater(t, queries, 50)
}

// eventually waits until all assertions hold.
func eventually(t *testing.T, assertions func(*assert.CollectT)) {
	t.Helper()
	require.EventuallyWithT(t, assertions, patience, schedulePeriod)
}
