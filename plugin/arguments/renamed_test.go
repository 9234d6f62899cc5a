package arguments_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/intake"
)

// parsed parses arguments in YAML.
func parsed(t *testing.T, plugin, text string) (arguments.Settings, []string) {
	t.Helper()
	var given framework.Arguments
	require.NoError(t, yaml.Unmarshal([]byte(text), &given))
	return arguments.Parse(variant(plugin), given)
}

// TestRenamed has a configuration of an earlier release for each argument that has another name now. The argument is
// reported as a problem, and has no effect.
func TestRenamed(t *testing.T) {
	for old, want := range map[string]string{
		"fairShareBy: weight":        "fairShareBy is fairShare: {by: deserved|weight} now",
		"fairShareCounts: borrowed":  "fairShareCounts is fairShare: {counts: all|borrowed} now",
		"fairShareHorizon: 1h":       "fairShareHorizon is fairShare: {horizon: TIME} now",
		"fairShareOf: [cards, cpu]":  "fairShareOf is fairShare: {of: [NAME, ...]} now",
		"fairShareSave: 5m":          "fairShareSave is stateSave: TIME now",
		"fairShareStore: batch/used": "fairShareStore is stateStore: NAMESPACE/NAME now",
		"fairShareWeights: {A: 2}":   "fairShareWeights is fairShare: {weights: {NAME: NUMBER, ...}} now",
		"keepGuarantees: true":       "keepGuarantees is rootCapability: unlimited now",
		"reclaimDamping: 2":          "reclaimDamping is reclaimCompares: damped=N now",
	} {
		for _, plugin := range []string{arguments.Capacity, arguments.CapacityCard, arguments.Proportion} {
			before, _ := parsed(t, plugin, "fairShareHalfLife: 24h")
			got, problems := parsed(t, plugin, "fairShareHalfLife: 24h\n"+old)
			assert.Equal(t, []string{"argument " + want}, problems, plugin)
			assert.Equal(t, before, got, "%s: %s", plugin, old)
		}
	}
}

// TestTranslated translates configurations of earlier releases. The new arguments give the settings that the old
// arguments meant.
func TestTranslated(t *testing.T) {
	for name, test := range map[string]struct {
		plugin   string
		old, now string
		want     func(*arguments.Settings)
	}{
		"damping": {
			arguments.CapacityCard, "reclaimDamping: 2", "reclaimCompares: damped=2",
			func(s *arguments.Settings) { s.Damping = 2 },
		},
		"damping, and ancestors without effect": {
			arguments.Capacity, "{reclaimDamping: 1, ancestorReclaimLevel: 3}", "reclaimCompares: damped=1",
			func(s *arguments.Settings) { s.Damping = 1 },
		},
		"no damping": {
			arguments.Capacity, "reclaimDamping: 0", "reclaimCompares: queue", func(*arguments.Settings) {},
		},
		"ancestors": {
			arguments.CapacityCard, "ancestorReclaimLevel: 3", "reclaimCompares: ancestors=3",
			func(s *arguments.Settings) { s.Levels = 3 },
		},
		"ancestors under Volcano's own name": {
			arguments.Capacity, "ancestorReclaimLevel: 3", "ancestorReclaimLevel: 3",
			func(s *arguments.Settings) { s.Levels = 3 },
		},
		"usage over time": {
			arguments.CapacityCard,
			"{fairShareHalfLife: 24h, fairShareHorizon: 1h, fairShareBy: weight, fairShareCounts: borrowed, " +
				"fairShareOf: 'cards,cpu', fairShareWeights: {A: 2}, fairShareReclaim: 1.5}",
			"{fairShareHalfLife: 24h, fairShareReclaim: 1.5, " +
				"fairShare: {horizon: 1h, by: weight, counts: borrowed, of: 'cards,cpu', weights: {A: 2}}}",
			func(s *arguments.Settings) {
				s.Bounds.FairShare = intake.FairShare{On: true, ByWeight: true}
				s.FairShare.HalfLife = 24 * time.Hour
				s.FairShare.Horizon = time.Hour
				s.FairShare.By = arguments.FairShareByWeight
				s.FairShare.Counts = arguments.FairShareCountsBorrowed
				s.FairShare.Of = []string{"cards", "cpu"}
				s.FairShare.Weights = map[string]float64{"A": 2}
				s.FairShare.Reclaim = 1.5
			},
		},
		"the store": {
			arguments.Proportion, "{fairShareStore: batch/used, fairShareSave: 5m}", "{stateStore: batch/used, stateSave: 5m}",
			func(s *arguments.Settings) {
				s.FairShare.Store = types.NamespacedName{Namespace: "batch", Name: "used"}
				s.FairShare.Save = 5 * time.Minute
			},
		},
		"no store": {
			arguments.Capacity, "fairShareStore: none", "stateStore: none",
			func(s *arguments.Settings) { s.FairShare.Store = arguments.NoStore },
		},
		"guarantees that are kept": {
			arguments.Capacity, "{rootCapability: unlimited, keepGuarantees: true}", "rootCapability: unlimited",
			func(s *arguments.Settings) { s.Bounds.RootCapability = intake.RootUnlimited },
		},
		"the defaults of capacity-card": {
			arguments.CapacityCard, "{}", "{cardUnlimitedCpuMemory: false, unsetCapability: zero, nodeOrderWeight: 1}",
			func(s *arguments.Settings) {
				s.Bounds.UnsetCapability = intake.UnsetZero
				s.Cards.UnlimitedCPUMemory = false
				s.Cards.NodeOrderWeight = 1
			},
		},
		"what every shipped file set": {
			arguments.CapacityCard, "{cardUnlimitedCpuMemory: true, unsetCapability: unlimited, untypedCards: reject}",
			"untypedCards: reject", func(s *arguments.Settings) { s.Cards.Untyped = cards.UntypedReject },
		},
	} {
		t.Run(name, func(t *testing.T) {
			want, _ := parsed(t, test.plugin, "{}")
			test.want(&want)
			got, problems := parsed(t, test.plugin, test.now)
			assert.Empty(t, problems)
			assert.Equal(t, want, got, "%s was %s", test.now, test.old)
		})
	}
}
