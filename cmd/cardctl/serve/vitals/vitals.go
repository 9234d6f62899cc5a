// Package vitals reads how long the scheduler's cycles take, from its metrics.
package vitals

import (
	"context"
	"io"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/internal/families"
	"github.com/capacity-card/capacity-card/plugin"
)

// The histograms of Volcano's scheduler.
const (
	cycles  = "volcano_e2e_scheduling_latency_milliseconds"
	plugins = "volcano_plugin_scheduling_latency_milliseconds"
)

const (
	patience  = 2 * time.Second
	mostBytes = 32 << 20
)

// Read reads the metrics at an address.
func Read(ctx context.Context, address string) ([]model.Timing, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	text, err := families.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	return parse(io.LimitReader(text, mostBytes))
}

func parse(text io.Reader) ([]model.Timing, error) {
	read, err := families.Read(text)
	if err != nil {
		return nil, err
	}

	var all []model.Timing
	for _, m := range read[cycles].GetMetric() {
		all = append(all, timing("cycle", m.GetHistogram()))
	}

	for _, m := range read[plugins].GetMetric() {
		name := families.Label(m, "plugin")
		if slices.Contains(plugin.Names, name) && families.Label(m, "OnSession") == "OnSessionOpen" {
			all = append(all, timing("session open, plugin "+name, m.GetHistogram()))
		}
	}
	return all, nil
}

func timing(name string, h *dto.Histogram) model.Timing {
	return model.Timing{Name: name, P50: quantile(h, 0.5), P99: quantile(h, 0.99), N: h.GetSampleCount()}
}

// quantile interpolates within a bucket, as histogram_quantile of Prometheus does. In the last
// bucket it is the bound of the previous bucket.
func quantile(h *dto.Histogram, q float64) float64 {
	rank := q * float64(h.GetSampleCount())
	lower := 0.0
	below := 0.0
	for _, b := range h.GetBucket() {
		upper := b.GetUpperBound()
		count := float64(b.GetCumulativeCount())
		if count >= rank && count > below {
			if math.IsInf(upper, 1) {
				return lower
			}
			return lower + (upper-lower)*(rank-below)/(count-below)
		}

		if !math.IsInf(upper, 1) {
			lower = upper
		}
		below = count
	}
	return lower
}
