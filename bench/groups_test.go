package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin"
)

// BenchmarkGroups measures the hooks of cards without groups of cards, and with 16 of them, on the same cluster of the
// shape L:
//
//	go test ./bench -run '^$' -bench Groups -count 6 | go tool benchstat -col /groups -
//
// With groups=16, each group has one or two of the eight models, and each model is in two groups; with groups=16x2 it
// is in four. Each queue with a quota of cards has one of each group, which allows all that is asked, so all answers
// are the same.
func BenchmarkGroups(b *testing.B) {
	for _, set := range []struct {
		name  string
		width int // models of a group
	}{{"none", 0}, {"16", 1}, {"16x2", 2}} {
		b.Run("groups="+set.name, func(b *testing.B) {
			c, groups, err := contentWithGroups(set.width)
			if err != nil {
				b.Fatal(err)
			}
			build := func(framework.Arguments) framework.Plugin {
				return plugin.New(framework.Arguments{"cardUnlimitedCpuMemory": false, "cardGroups": groups})
			}
			for _, op := range []struct {
				name string
				operation
			}{
				{"Allocatable", allocatable}, {"JobEnqueueable", jobEnqueueable}, {"Reclaimable", reclaimable(100)}, {"Event", event},
				{"SessionOpen", opening},
			} {
				b.Run("of="+op.name, func(b *testing.B) { measure(b, c, op.operation, implementation{"ours", build}) })
			}
		})
	}
}

// contentWithGroups is a cluster with pods that ask for one card. It has 16 groups of width models each. With a width
// of 0 it has no groups.
func contentWithGroups(width int) (*content, map[string]any, error) {
	const groupCount = 16
	t, err := newCardContent(workload.L, asks{cards: 1})
	if err != nil || width == 0 {
		return t, map[string]any{}, err
	}
	var models []string
	for _, n := range t.Cluster.Nodes {
		if model := n.Labels[workload.ProductLabel]; model != "" && !slices.Contains(models, model) {
			models = append(models, model)
		}
	}
	groups, quotas := map[string]any{}, ""
	for i := range groupCount {
		cards := map[string]any{}
		for k := range width {
			cards[models[(i+3*k)%len(models)]] = k + 1
		}
		groups[fmt.Sprintf("g%d", i)] = cards
		quotas += fmt.Sprintf(",\"@g%d\":1000000", i)
	}
	for i := range t.Cluster.Queues {
		if q := &t.Cluster.Queues[i]; q.Annotations[quotaKey] != "" {
			q.Annotations[quotaKey] = strings.TrimSuffix(q.Annotations[quotaKey], "}") + quotas + "}"
			q.Annotations["volcano.sh/card.guarantee"] = number.ReplaceAllString(q.Annotations[quotaKey], ":0")
		}
	}
	t.info, err = cluster.Build(t.Cluster, "/bench")
	return t, groups, err
}
