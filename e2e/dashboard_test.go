package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Times in the data of a Prometheus, and the time between two samples.
var (
	thousandQueues = time.Now().Truncate(time.Minute)
	newCluster     = thousandQueues.Add(-6 * time.Hour)
	noScheduler    = thousandQueues.Add(-3 * time.Hour)
)

const (
	sampleInterval = 4 * time.Minute
	samples        = 3
)

// cardNames are the cards of the generated clusters.
var cardNames = []string{"NVIDIA-H200", "NVIDIA-H100", "NVIDIA-A100", "NVIDIA-L40S", "NVIDIA-H20", "Ascend-910B", "AMD-MI300X", "RTX-4090"}

// exposition writes samples as promtool reads them.
type exposition struct {
	text strings.Builder
	at   int64
}

// add writes one sample; labels has pairs of name and value.
func (e *exposition) add(name string, value float64, labels ...string) {
	fmt.Fprintf(&e.text, `volcano_%s{instance="a"`, name)
	for i := 0; i < len(labels); i += 2 {
		fmt.Fprintf(&e.text, `,%s=%q`, labels[i], labels[i+1])
	}
	fmt.Fprintf(&e.text, "} %g %d\n", value, e.at)
}

// cluster writes the series of a cluster without jobs: cards, one queue, and cycles.
func (e *exposition) cluster(sample int) {
	e.add("cluster_milli_cpu", 640e6)
	e.add("cluster_memory_bytes", 5e15)
	for _, card := range cardNames {
		e.add("cluster_cards", 5e6, "resource", card)
	}
	e.add("fair_share_saved_timestamp_seconds", float64(e.at-30))
	e.queue("default", 1, 0, 0)
	for _, histogram := range [][]string{
		{"e2e_scheduling_latency_milliseconds"},
		{"action_scheduling_latency_milliseconds", "action", "allocate"},
		{"plugin_scheduling_latency_milliseconds", "plugin", "capacity-card", "OnSession", "OnSessionOpen"},
	} {
		e.histogram(histogram[0], float64(sample), 20, histogram[1:]...)
	}
}

// histogram writes a histogram of count values that are all as large as value.
func (e *exposition) histogram(name string, count, value float64, labels ...string) {
	e.add(name+"_bucket", count, append(labels, "le", "100.0")...)
	e.add(name+"_bucket", count, append(labels, "le", "+Inf")...)
	e.add(name+"_count", count, labels...)
	e.add(name+"_sum", count*value, labels...)
}

// queue writes the series that each queue has; its pods hold cpu, in cores.
func (e *exposition) queue(name string, leaf, deserved, cpu float64) {
	e.add("queue_leaf", leaf, "parent", "root", "queue_name", name)
	e.add("queue_share", cpu/640, "queue_name", name)
	for account, value := range map[string]float64{"capacity": 2 * deserved, "deserved": deserved, "allocated": cpu, "request": cpu * 1.5, "inqueue": 0} {
		e.add("queue_"+account+"_milli_cpu", value*1e3, "queue_name", name)
		e.add("queue_"+account+"_memory_bytes", value*1e9, "queue_name", name)
	}
}

// fullQueue writes the series of a queue that holds, borrows or lends each card, waits, and is named by an alert. The
// queues that hold most are different in each sample.
func (e *exposition) fullQueue(i, sample int) {
	name, turn := fmt.Sprintf("dept-%02d-team-%02d", i/50, i%50), float64((i*37+sample*400)%1000)
	e.queue(name, 1, 640, 300+turn)
	for c, card := range cardNames {
		held := float64((int(turn) + 125*c) % 1000)
		for account, value := range map[string]float64{"capacity": 1000, "deserved": 500, "allocated": held, "request": held + turn/10, "inqueue": 1} {
			e.add("queue_"+account+"_scalar_resources", value*1e3, "queue_name", name, "resource", card)
		}
		e.add("queue_card_budget_hours", 2000, "queue_name", name, "resource", card)
		e.add("queue_card_budget_used_hours", 500+turn, "queue_name", name, "resource", card)
		e.add("queue_fair_share_usage", 1e3*(500+turn), "queue_name", name, "resource", card)
	}
	e.add("queue_windows_in_force", float64(1+i%3), "queue_name", name)
	e.add("queue_fair_share_level", 0.5+turn/500, "queue_name", name)
	card := cardNames[i%len(cardNames)]
	rules := []string{"OverQuota", "OverDeserved", "Guaranteed", "Reserved", "NoSuchCard"}
	e.add("queue_waiting_jobs", 1+turn, "queue_name", name, "rule", rules[i/8%len(rules)], "level", name, "resource", card)
	e.histogram("queue_admission_wait_seconds", float64(sample)*2, turn, "queue_name", name)
	e.add("queue_card_annotation_problems", 1, "queue_name", name)
	fmt.Fprintf(&e.text, "ALERTS{alertname=\"QueueStarving\",alertstate=\"firing\",severity=\"warning\",queue_name=%q,resource=%q} 1 %d\n", name, card, e.at)
}

// generatedPrometheus runs a Prometheus that has the series of a new cluster, and hours later no series. Then it has
// the series of a cluster with 1,000 queues in 20 departments that all use all cards.
func generatedPrometheus(t *testing.T) prometheus.API {
	t.Helper()
	var e exposition
	for sample := range samples {
		e.at = newCluster.Add(time.Duration(sample-samples+1) * sampleInterval).Unix()
		e.cluster(sample)
	}
	for sample := range samples {
		e.at = thousandQueues.Add(time.Duration(sample-samples+1) * sampleInterval).Unix()
		e.cluster(sample)
		for department := range 20 {
			e.queue(fmt.Sprintf("dept-%02d", department), 0, 32e3, 16e3)
		}
		for i := range 1000 {
			e.fullQueue(i, sample)
		}
	}
	e.text.WriteString("# EOF\n")
	directory := t.TempDir()
	file, data := filepath.Join(directory, "samples"), filepath.Join(directory, "data")
	require.NoError(t, os.WriteFile(file, []byte(e.text.String()), 0o600))
	output, err := exec.Command(prometheusTool(t, "promtool"), "tsdb", "create-blocks-from", "openmetrics", file, data).CombinedOutput()
	require.NoError(t, err, string(output))
	p := startPrometheus(t, "global: {}\n", data)
	eventually(t, func(collect *assert.CollectT) {
		_, err := p.Buildinfo(t.Context())
		assert.NoError(collect, err)
	})
	return p
}

// ask has a query answered as Grafana asks it for a time range that ends at a time: all queues and cards, ten lines,
// 100 rows.
func ask(t *testing.T, p prometheus.API, query target, end time.Time) model.Value {
	t.Helper()
	expression := strings.NewReplacer("$queue", ".+", "$department", ".*", "$card", ".+", "$leaf", "1", "$top", "10", "$rows", "100",
		"$__rate_interval", "10m", "$__range", "15m").Replace(query.Expr)
	var value model.Value
	var err error
	if query.Instant {
		value, _, err = p.Query(t.Context(), expression, end)
	} else {
		value, _, err = p.QueryRange(t.Context(), expression,
			prometheus.Range{Start: end.Add(-(samples - 1) * sampleInterval), End: end, Step: sampleInterval})
	}
	require.NoError(t, err, expression)
	return value
}

// series returns the labels of the series of a value.
func series(t *testing.T, value model.Value) (all []model.Metric) {
	t.Helper()
	switch value := value.(type) {
	case model.Vector:
		for _, sample := range value {
			all = append(all, sample.Metric)
		}
	case model.Matrix:
		for _, stream := range value {
			all = append(all, stream.Metric)
		}
	default:
		t.Fatalf("neither a vector nor a matrix: %T", value)
	}
	return all
}

// TestDashboardAtScale has a real Prometheus answer the queries of the dashboard from generated series.
func TestDashboardAtScale(t *testing.T) {
	p := generatedPrometheus(t)
	t.Run("1,000 queues", func(t *testing.T) { thousandQueuesAreReadable(t, p) })
	t.Run("new cluster", func(t *testing.T) { newClusterHasFigures(t, p) })
}

// thousandQueuesAreReadable expects that no panel has more lines or rows than can be read, whichever queues were the
// largest in the time range, and that each has data.
func thousandQueuesAreReadable(t *testing.T, p prometheus.API) {
	t.Helper()
	limits := map[string]int{"stat": 1, "timeseries": 12, "table": 100}
	byTitle := map[string][]model.Value{}
	for _, panel := range readDashboard(t).Panels {
		rows := map[string]bool{}
		for _, query := range panel.Targets {
			value := ask(t, p, query, thousandQueues)
			byTitle[panel.Title] = append(byTitle[panel.Title], value)
			all := series(t, value)
			assert.NotEmpty(t, all, "%s: %s", panel.Title, query.Expr)
			for _, labels := range all {
				rows[query.LegendFormat+labels.String()] = true
			}
			if panel.Type == "stat" {
				assert.True(t, query.Instant, "%s shows one value", panel.Title)
			}
		}
		limit := limits[panel.Type]
		if panel.Title == "From whom" { // ten that leave most unused and ten that want most back
			limit = 20 * (len(cardNames) + 1)
		}
		assert.LessOrEqual(t, len(rows), limit, "rows or lines of %s", panel.Title)
	}

	// Resources in other units do not push out the cards.
	for _, title := range []string{"Who borrows", "From whom"} {
		require.NotEmpty(t, byTitle[title])
		for _, value := range byTitle[title] {
			resources := map[string]bool{}
			for _, labels := range series(t, value) {
				resources[string(labels["resource"])] = true
			}
			assert.Len(t, resources, len(cardNames)+1, "%s names each card, and cpu: %v", title, resources)
		}
	}

	// Values that are not among the largest are not lost.
	shown := map[model.Time]model.SampleValue{}
	for _, value := range byTitle["Jobs that wait, by cause"] {
		for _, stream := range value.(model.Matrix) {
			for _, point := range stream.Values {
				shown[point.Timestamp] += point.Value
			}
		}
	}
	total := ask(t, p, target{Expr: "sum(volcano_queue_waiting_jobs)"}, thousandQueues).(model.Matrix)
	require.Len(t, total, 1)
	require.Len(t, total[0].Values, samples)
	for _, point := range total[0].Values {
		assert.Equal(t, point.Value, shown[point.Timestamp])
	}
}

// newClusterHasFigures expects figures from a scheduler without jobs, and none where no scheduler is scraped: a 0 would
// say that no job waits.
func newClusterHasFigures(t *testing.T, p prometheus.API) {
	t.Helper()
	figures := 0
	for _, panel := range readDashboard(t).Panels {
		for _, query := range panel.Targets {
			if panel.Title != "Alerts" {
				assert.Empty(t, ask(t, p, query, noScheduler), "%s: %s", panel.Title, query.Expr)
			}
			if panel.Type != "stat" {
				continue
			}
			figures++
			value, ok := ask(t, p, query, newCluster).(model.Vector)
			if !ok || len(value) != 1 {
				assert.Failf(t, "not one figure", "%s: %v", panel.Title, value)
				continue
			}
			want := map[string]model.SampleValue{"Queues": 1, "Opening a session": 20, "Cycle": 20, "Last save of usage": 30}[panel.Title]
			assert.Equal(t, want, value[0].Value, panel.Title)
		}
	}
	assert.Equal(t, 9, figures)
}

// TestDashboardIsReadable expects that figures are 1,234 and not 1.23 K, and that the columns of a table fit on a
// screen: each has 150 pixels unless the panel says otherwise. A logarithmic axis has the text for no value at each of
// its lines.
func TestDashboardIsReadable(t *testing.T) {
	const screen = 1400
	tables := 0
	for _, panel := range readDashboard(t).Panels {
		if panel.Type == "stat" || panel.Type == "table" {
			assert.NotEqual(t, "short", panel.FieldConfig.Defaults.Unit, "unit of %s", panel.Title)
		}
		if panel.FieldConfig.Defaults.Custom.ScaleDistribution.Type == "log" {
			assert.Empty(t, panel.FieldConfig.Defaults.NoValue, panel.Title)
		}
		if panel.Type != "table" {
			continue
		}
		tables++
		least := 150
		if panel.FieldConfig.Defaults.Custom.MinWidth > 0 {
			least = panel.FieldConfig.Defaults.Custom.MinWidth
		}
		columns := map[string]int{}
		for _, transformation := range panel.Transformations {
			for _, column := range transformation.Options.RenameByName {
				columns[column] = least
			}
		}
		for _, override := range panel.FieldConfig.Overrides {
			_, known := columns[override.Matcher.Options]
			require.True(t, known, "%s has no column %s", panel.Title, override.Matcher.Options)
			for _, property := range override.Properties {
				if property.ID == "custom.minWidth" {
					columns[override.Matcher.Options] = int(property.Value.(float64))
				}
			}
		}
		width := 0
		for _, column := range columns {
			width += column
		}
		assert.LessOrEqual(t, width, screen*panel.GridPos.W/24-18, "columns of %s: %v", panel.Title, columns)
	}
	assert.Greater(t, tables, 5)
}
