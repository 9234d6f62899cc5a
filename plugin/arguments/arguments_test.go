package arguments_test

import (
	"cmp"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/framework"

	cardnames "github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/quota"
)

func variant(name string) arguments.Variant {
	v, _ := arguments.VariantOf(name)
	return v
}

// TestArguments parses arguments of each plugin.
func TestArguments(t *testing.T) {
	const day = 24 * time.Hour
	const compares = "queue, or ancestors=N or damped=N with a whole number N above 0"
	card, capacity := variant(arguments.CapacityCard), variant(arguments.Capacity)
	with := func(changes ...func(*arguments.Settings)) arguments.Settings {
		s := arguments.Settings{
			Bounds: intake.Settings{RootCapability: intake.RootTotal, UnsetCapability: intake.UnsetUnlimited,
				DeservedFrom: intake.DeservedFromSpec, HierarchyFrom: intake.HierarchyFromParent},
			Cards: cards.Settings{Untyped: cards.UntypedCharge, Terminating: cards.TerminatingRelease, NodeOrderWeight: 2000},
		}
		for _, change := range changes {
			change(&s)
		}
		return s
	}
	ofCards := func(s *arguments.Settings) { // the defaults of capacity-card
		s.Cards.UnlimitedCPUMemory = true
		s.Cards.Terminating = cards.TerminatingHold
		s.AdmitReclaimable = true
	}
	openRoot := func(s *arguments.Settings) {
		s.Bounds.OpenRoot, s.Bounds.RootCapability, s.Rules = true, intake.RootOwn, release.V1144.Rules()
	}
	fallback, _ := arguments.Parse(capacity, nil)
	fallback.Bounds.Devices = intake.Devices{} // see TestDeviceArguments
	assert.Equal(t, release.Built().Rules(), fallback.Rules)
	tests := []struct {
		name      string
		variant   arguments.Variant
		arguments framework.Arguments
		want      arguments.Settings
		problems  []string
	}{
		{"none", capacity, nil, with(), nil},
		{"none for cards", card, nil, with(ofCards), nil},
		{"all", capacity, framework.Arguments{"rootCapability": "unlimited", "unsetCapability": "zero", "untypedCards": "reject", "terminatingCards": "hold",
			"cardUnlimitedCpuMemory": true, "nodeOrderWeight": 2.5, "deservedFrom": "weight", "hierarchyFrom": "annotation", "reclaimCompares": "damped=2"},
			arguments.Settings{
				Bounds: intake.Settings{RootCapability: intake.RootUnlimited, UnsetCapability: intake.UnsetZero,
					DeservedFrom: intake.DeservedFromWeight, HierarchyFrom: intake.HierarchyFromAnnotation},
				Cards: cards.Settings{Untyped: cards.UntypedReject, Terminating: cards.TerminatingHold, UnlimitedCPUMemory: true, NodeOrderWeight: 2.5}, Damping: 2}, nil},
		{"all for cards", card, framework.Arguments{"rootCapability": "total", "unsetCapability": "zero", "untypedCards": "ignore",
			"cardUnlimitedCpuMemory": "false", "nodeOrderWeight": 3, "deservedFrom": "spec", "hierarchyFrom": "parent", "reclaimCompares": "queue"},
			with(func(s *arguments.Settings) {
				s.Bounds.UnsetCapability = intake.UnsetZero
				s.Cards = cards.Settings{Untyped: cards.UntypedIgnore, Terminating: cards.TerminatingHold, NodeOrderWeight: 3}
				s.AdmitReclaimable = true
			}), nil},
		{"numbers and flags as text", card, framework.Arguments{"cardUnlimitedCpuMemory": "false", "nodeOrderWeight": "0.5", "reclaimCompares": "damped=3"},
			with(ofCards, func(s *arguments.Settings) {
				s.Cards.UnlimitedCPUMemory, s.Cards.NodeOrderWeight, s.Damping = false, 0.5, 3
			}), nil},
		{"a wrong value", capacity, framework.Arguments{"rootCapability": "none"}, with(),
			[]string{"argument rootCapability: none (string) is not one of total, own, unlimited, using total"}},
		{"wrong types", card, framework.Arguments{"rootCapability": 3, "unsetCapability": map[string]int{"a": 1}, "untypedCards": true,
			"cardUnlimitedCpuMemory": "perhaps", "nodeOrderWeight": []int{1}}, with(ofCards),
			[]string{"argument rootCapability: 3 (int) is not one of total, own, unlimited, using total",
				"argument unsetCapability: map[a:1] (map[string]int) is not one of unlimited, zero, using unlimited",
				"argument untypedCards: true (bool) is not one of charge, reject, ignore, using charge",
				"argument cardUnlimitedCpuMemory: perhaps (string) is not true or false, using true",
				"argument nodeOrderWeight: [1] ([]int) is not a number above 0, using 2000"}},
		{"status of queues", capacity, framework.Arguments{"cardStatus": "90s"},
			with(func(s *arguments.Settings) { s.CardStatus = 90 * time.Second }), nil},
		{"status of queues, too often", capacity, framework.Arguments{"cardStatus": "1s"},
			with(func(s *arguments.Settings) { s.CardStatus = time.Minute }),
			[]string{"argument cardStatus: 1s (string) is not a duration of 1m or more, using 1m0s"}},
		{"status of queues, wrong", capacity, framework.Arguments{"cardStatus": "often"}, with(),
			[]string{"argument cardStatus: often (string) is not a duration of 0 or more, such as 30m, using 0s"}},
		{"usage over time", capacity, framework.Arguments{"fairShareHalfLife": "24h"}, with(func(s *arguments.Settings) {
			s.Bounds.FairShare.On = true
			s.FairShare = arguments.FairShare{HalfLife: day, Horizon: day, By: arguments.FairShareByDeserved, Counts: arguments.FairShareCountsAll,
				Of: []string{"cards"}, Store: types.NamespacedName{Namespace: "volcano-system", Name: "capacity-card-usage"}, Save: time.Minute}
		}), nil},
		{"usage over time, all", capacity, framework.Arguments{"fairShareHalfLife": "24h", "stateStore": "none", "stateSave": "5m", "fairShareReclaim": "1.5",
			"fairShare": map[any]any{"horizon": "1m", "by": "weight", "counts": "borrowed", "of": []any{"cards", "cpu"}, "weights": map[string]any{"A": 2, "cpu": "0.1"}}}, with(func(s *arguments.Settings) {
			s.Bounds.FairShare = intake.FairShare{On: true, ByWeight: true}
			s.FairShare = arguments.FairShare{HalfLife: day, Horizon: time.Minute, By: arguments.FairShareByWeight, Counts: arguments.FairShareCountsBorrowed,
				Of: []string{"cards", "cpu"}, Save: 5 * time.Minute, Reclaim: 1.5, Weights: map[string]float64{"A": 2, "cpu": 0.1}}
		}), nil},
		{"usage over time, wrong", capacity, framework.Arguments{"fairShareHalfLife": "24h", "stateStore": "Here", "stateSave": "1ms", "fairShareReclaim": 1,
			"fairShare": map[string]any{"horizon": -1, "by": 1, "of": "cpu,,", "weights": map[string]any{"A": 0, "B": "much"}, "zebra": 1}}, with(func(s *arguments.Settings) {
			s.Bounds.FairShare.On = true
			s.FairShare = arguments.FairShare{HalfLife: day, Horizon: day, By: arguments.FairShareByDeserved, Counts: arguments.FairShareCountsAll,
				Of: []string{"cards"}, Store: types.NamespacedName{Namespace: "volcano-system", Name: "capacity-card-usage"}, Save: time.Minute}
		}), []string{"argument stateStore: Here (string) is not namespace/name of a ConfigMap, or none, using volcano-system/capacity-card-usage",
			"argument stateSave: 1ms (string) is not a time of 1s or more, using 1m0s",
			"argument fairShare: horizon: -1 (int) is not a duration of 0 or more, such as 30m, using 24h0m0s",
			"argument fairShare: by: 1 (int) is not one of deserved, weight, using deserved",
			"argument fairShare: of: cpu,, (string) is not a list of cards and resources, using cards",
			"argument fairShare: weights: A: 0 is not a number above 0, ignored",
			"argument fairShare: weights: B: much is not a number above 0, ignored",
			"argument fairShare: zebra is unknown and ignored; known are by, counts, horizon, of, weights",
			"argument fairShareReclaim: 1 (int) is not a number above 1, using none"}},
		{"usage over time, strict history", capacity, framework.Arguments{"fairShareHalfLife": "24h", "fairShare": map[string]any{"horizon": "0s"}, "fairShareReclaim": 2,
			"stateStore": "none"}, with(func(s *arguments.Settings) {
			s.Bounds.FairShare.On = true
			s.FairShare = arguments.FairShare{HalfLife: day, By: arguments.FairShareByDeserved, Counts: arguments.FairShareCountsAll,
				Of: []string{"cards"}, Save: time.Minute}
		}), []string{"argument fairShareReclaim has no effect with fairShare: {horizon: TIME} below 1m0s"}},
		{"usage over time, beside damping", capacity, framework.Arguments{"fairShareHalfLife": "24h", "fairShareReclaim": 2, "reclaimCompares": "damped=1", "stateStore": "none"},
			with(func(s *arguments.Settings) {
				s.Bounds.FairShare.On, s.Damping = true, 1
				s.FairShare = arguments.FairShare{HalfLife: day, Horizon: day, By: arguments.FairShareByDeserved, Counts: arguments.FairShareCountsAll,
					Of: []string{"cards"}, Save: time.Minute}
			}), []string{"argument fairShareReclaim has no effect with reclaimCompares: damped=1"}},
		{"usage over time, no half-life", capacity, framework.Arguments{"fairShareHalfLife": "0s"}, with(),
			[]string{"argument fairShareHalfLife: 0s (string) is not a duration above 0, such as 24h, using none"}},
		{"usage over time, off", capacity, framework.Arguments{"fairShareHalfLife": "-24h", "fairShare": map[string]any{"by": "weight"}}, with(),
			[]string{"argument fairShareHalfLife: -24h (string) is not a duration of 0 or more, such as 30m, using 0s",
				"argument fairShare has no effect without fairShareHalfLife"}},
		{"usage over time, no map", capacity, framework.Arguments{"fairShareHalfLife": "24h", "fairShare": "weight"}, with(func(s *arguments.Settings) {
			s.Bounds.FairShare.On = true
			s.FairShare = arguments.FairShare{HalfLife: day, Horizon: day, By: arguments.FairShareByDeserved, Counts: arguments.FairShareCountsAll,
				Of: []string{"cards"}, Store: types.NamespacedName{Namespace: "volcano-system", Name: "capacity-card-usage"}, Save: time.Minute}
		}), []string{"argument fairShare: weight (string) is not a map with the keys by, counts, horizon, of, weights, using none"}},
		{"the rules of a later release", capacity, framework.Arguments{"semantics": "v1.15", "ancestorReclaimLevel": 2},
			with(openRoot, func(s *arguments.Settings) { s.Rules, s.Bounds.Gates, s.Levels = release.V115.Rules(), true, 2 }), nil},
		{"a later release with the root of v1.14.1", capacity, framework.Arguments{"semantics": "v1.14.4", "rootCapability": "total"},
			with(openRoot, func(s *arguments.Settings) { s.Bounds.RootCapability = intake.RootTotal }), nil},
		{"policies of reclaim", capacity, framework.Arguments{"victimOrder": "leastWork", "reclaimByServiceType": "true",
			"podOwnerReferenceToServiceType": map[any]any{"ReplicaSet": "inference", "Job": "training"}},
			with(func(s *arguments.Settings) {
				s.ByWork, s.ByClass, s.Owners = true, true, map[string]quota.Class{"ReplicaSet": quota.Inference, "Job": quota.Training}
			}), nil},
		{"wrong policies of reclaim", capacity, framework.Arguments{"victimOrder": "least", "reclaimByServiceType": "yes", "podOwnerReferenceToServiceType": "Job"}, with(),
			[]string{"argument reclaimByServiceType: yes (string) is not true or false, using false",
				"argument podOwnerReferenceToServiceType: Job (string) is not a map from kinds of owners, such as ReplicaSet, to service classes, using none",
				"argument victimOrder: least (string) is not one of volcano, leastWork, using volcano"}},
		{"wrong classes", capacity, framework.Arguments{"reclaimByServiceType": true, "podOwnerReferenceToServiceType": map[string]any{"Job": "train", "B": 1, "ReplicaSet": "inference"}},
			with(func(s *arguments.Settings) {
				s.ByClass, s.Owners = true, map[string]quota.Class{"ReplicaSet": quota.Inference}
			}),
			[]string{`argument podOwnerReferenceToServiceType: B: "1" is not one of inference, training, ignored`,
				`argument podOwnerReferenceToServiceType: Job: "train" is not one of inference, training, ignored`}},
		{"classes without reclaim by them", capacity, framework.Arguments{"podOwnerReferenceToServiceType": map[string]string{"Job": "training"}},
			with(func(s *arguments.Settings) { s.Owners = map[string]quota.Class{"Job": quota.Training} }),
			[]string{"argument podOwnerReferenceToServiceType has no effect without reclaimByServiceType"}},
		{"policies that proportion lacks", variant(arguments.Proportion), framework.Arguments{"victimOrder": "leastWork", "reclaimByServiceType": true}, with(),
			[]string{"argument victimOrder has no effect: the plugin proportion evicts as Volcano's does",
				"argument reclaimByServiceType has no effect: the plugin proportion evicts as Volcano's does"}},
		{"labels of cards", card, framework.Arguments{"cardLabels": map[any]any{"cambricon.com/mlu": "example.com/model"}},
			with(ofCards, func(s *arguments.Settings) {
				s.Cards.Labels = cardnames.Labels{"cambricon.com/mlu": "example.com/model"}
			}), nil},
		{"wrong labels of cards", capacity, framework.Arguments{"cardLabels": map[string]any{"cpu": "a", "nvidia.com/gpu.shared": "b", "a.com/gpu": "no label", "b.com/gpu": 1}},
			with(func(s *arguments.Settings) { s.Cards.Labels = cardnames.Labels{"b.com/gpu": "1"} }),
			[]string{`argument cardLabels: a.com/gpu: "no label" is not a label: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), ignored`,
				"argument cardLabels: cpu: it is not an extended resource of whole cards, ignored",
				"argument cardLabels: nvidia.com/gpu.shared: it is not an extended resource of whole cards, ignored"}},
		{"groups of cards", card, framework.Arguments{"cardGroups": map[any]any{"hopper": map[any]any{"NVIDIA-H200": 1, "NVIDIA-H100/*": "share"}}},
			with(ofCards, func(s *arguments.Settings) {
				s.Cards.Groups = cardnames.Groups{"hopper": {{Pattern: "NVIDIA-H100/*", Text: "share"}, {Pattern: "NVIDIA-H200", Text: "1"}}}
			}), nil},
		{"wrong groups of cards", capacity, framework.Arguments{"cardGroups": map[string]any{"a": map[string]any{"A": -1}, "b": 3, "c": map[string]any{}}},
			with(func(s *arguments.Settings) { s.Cards.Groups = cardnames.Groups{"a": nil, "b": nil, "c": nil} }),
			[]string{`argument cardGroups: a: the weight "-1" of A is not a number above 0 and up to 4096, a fraction such as 1/7, share, g or memory, ignored`,
				"argument cardGroups: b: it is not a map from cards to weights, ignored", "argument cardGroups: c: it has no cards, ignored"}},
		{"groups of cards that are no map", capacity, framework.Arguments{"cardGroups": 1}, with(),
			[]string{"argument cardGroups: 1 (int) is not a map from groups to maps from cards to weights, using none"}},
		{"attributes of cards", card, framework.Arguments{"cardAttributes": map[any]any{"gpu.example.com": "model"}},
			with(ofCards, func(s *arguments.Settings) { s.Cards.Attributes = cardnames.Attributes{"gpu.example.com": "model"} }), nil},
		{"wrong attributes of cards", capacity, framework.Arguments{"cardAttributes": map[string]any{"No driver": "a", "b.com": "c.org/chip"}},
			with(func(s *arguments.Settings) { s.Cards.Attributes = cardnames.Attributes{"b.com": "c.org/chip"} }),
			[]string{"argument cardAttributes: No driver: it is not the name of a driver: a lowercase RFC 1123 subdomain must consist of lower case " +
				"alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for " +
				"validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), ignored"}},
		{"labels of cards that are no map", capacity, framework.Arguments{"cardLabels": "nvidia.com/gpu"}, with(),
			[]string{"argument cardLabels: nvidia.com/gpu (string) is not a map from resources of cards to labels of nodes, using none"}},
		{"an unknown release", capacity, framework.Arguments{"semantics": "v1.13"}, fallback,
			[]string{`argument semantics: "v1.13" is not one of [v1.14.1 v1.14.4 v1.15 v1.16], using ` + release.Built().String()}},
		{"both rules of ancestors", capacity, framework.Arguments{"ancestorReclaimLevel": "2", "reclaimCompares": "damped=1"}, with(func(s *arguments.Settings) { s.Damping = 1 }),
			[]string{"argument ancestorReclaimLevel has no effect with reclaimCompares"}},
		{"ancestors", card, framework.Arguments{"reclaimCompares": "ancestors=2"}, with(ofCards, func(s *arguments.Settings) { s.Levels = 2 }), nil},
		{"Volcano's argument under another name", card, framework.Arguments{"ancestorReclaimLevel": 2}, with(ofCards),
			[]string{"argument ancestorReclaimLevel is reclaimCompares: ancestors=N under the name capacity-card"}},
		{"Volcano's argument is no number", capacity, framework.Arguments{"ancestorReclaimLevel": -1}, with(),
			[]string{"argument ancestorReclaimLevel: -1 (int) is not a whole number, 0 or more, using 0"}},
		{"wrong sources and levels", capacity, framework.Arguments{"deservedFrom": "weights", "hierarchyFrom": 1, "reclaimCompares": -1}, with(),
			[]string{"argument deservedFrom: weights (string) is not one of spec, weight, using spec",
				"argument hierarchyFrom: 1 (int) is not one of parent, annotation, using parent",
				"argument reclaimCompares: -1 (int) is not " + compares + ", using queue"}},
		{"no whole number", capacity, framework.Arguments{"reclaimCompares": "damped=1.5"}, with(),
			[]string{"argument reclaimCompares: damped=1.5 (string) is not " + compares + ", using queue"}},
		{"too many levels", capacity, framework.Arguments{"reclaimCompares": "ancestors=1e300"}, with(),
			[]string{"argument reclaimCompares: ancestors=1e300 (string) is not " + compares + ", using queue"}},
		{"no levels", capacity, framework.Arguments{"reclaimCompares": "damped=0"}, with(),
			[]string{"argument reclaimCompares: damped=0 (string) is not " + compares + ", using queue"}},
		{"an empty comparison", capacity, framework.Arguments{"reclaimCompares": nil}, with(),
			[]string{"argument reclaimCompares: <nil> (<nil>) is not " + compares + ", using queue"}},
		{"a flag of starving jobs", capacity, framework.Arguments{"reclaimBeyondMinimum": true}, with(func(s *arguments.Settings) { s.BeyondMinimum = true }), nil},
		{"what reclaim can take back does not count", capacity, framework.Arguments{"admitReclaimable": true}, with(func(s *arguments.Settings) { s.AdmitReclaimable = true }), nil},
		{"what reclaim can take back counts", card, framework.Arguments{"admitReclaimable": "false"}, with(ofCards, func(s *arguments.Settings) { s.AdmitReclaimable = false }), nil},
		{"neither", card, framework.Arguments{"admitReclaimable": "sometimes"}, with(ofCards),
			[]string{"argument admitReclaimable: sometimes (string) is not true or false, using true"}},
		{"not above 0", card, framework.Arguments{"nodeOrderWeight": 0}, with(ofCards),
			[]string{"argument nodeOrderWeight: 0 (int) is not a number above 0, using 2000"}},
		{"no number", card, framework.Arguments{"nodeOrderWeight": math.NaN()}, with(ofCards),
			[]string{"argument nodeOrderWeight: NaN (float64) is not a number above 0, using 2000"}},
		{"empty", card, framework.Arguments{"nodeOrderWeight": nil, "cardUnlimitedCpuMemory": nil}, with(ofCards),
			[]string{"argument cardUnlimitedCpuMemory: <nil> (<nil>) is not true or false, using true",
				"argument nodeOrderWeight: <nil> (<nil>) is not a number above 0, using 2000"}},
		{"memory of fractions", card, framework.Arguments{"fractions": "memory"}, with(ofCards, func(s *arguments.Settings) {
			s.Cards.Fractions = cardnames.ByMemory
		}), nil},
		{"unknown arguments", capacity, framework.Arguments{"zebra": 1, "apple": nil}, with(),
			[]string{"argument apple is unknown and ignored; known are " + strings.Join(arguments.Known, ", "),
				"argument zebra is unknown and ignored; known are " + strings.Join(arguments.Known, ", ")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, problems := arguments.Parse(test.variant, testbed.Pinned(arguments.Capacity, test.arguments))
			got.Bounds.Devices = intake.Devices{}
			if test.want.FairShare.Save == 0 { // not said
				test.want.FairShare.Save, test.want.FairShare.Store = time.Minute, types.NamespacedName{Namespace: "volcano-system", Name: "capacity-card-usage"}
			}
			test.want.Cards.Fractions = cmp.Or(test.want.Cards.Fractions, cardnames.ByDominant)
			test.want.Bounds.Scalars, test.want.Bounds.Proportion = test.variant.Scalars, test.variant.Proportion
			assert.Equal(t, test.want, got)
			assert.Equal(t, test.problems, problems)
		})
	}
}

// TestDeviceArguments reads the arguments for quotas of device classes with each release.
func TestDeviceArguments(t *testing.T) {
	if counts, capacities := release.DeviceQuotas(); release.KnowsDeviceClaims() {
		s, problems := arguments.Parse(variant(arguments.Capacity), nil)
		assert.Equal(t, intake.Devices{Capacities: capacities}, s.Bounds.Devices, "the feature gates")
		assert.True(t, counts)
		assert.Empty(t, problems)
		s, problems = arguments.Parse(variant(arguments.Capacity), framework.Arguments{arguments.DeviceCapacities: !capacities, arguments.DeviceQuotas: "perhaps"})
		assert.Equal(t, intake.Devices{Capacities: !capacities}, s.Bounds.Devices)
		assert.Equal(t, []string{"argument capacity.DynamicResourceAllocationEnable: perhaps (string) is not true or false, using true"}, problems)
	}
	for _, v := range []arguments.Variant{variant(arguments.Capacity), variant(arguments.CapacityCard)} {
		_, problems := arguments.Parse(v, framework.Arguments{arguments.Semantics: "v1.14.4", arguments.DeviceQuotas: true})
		assert.Contains(t, problems, "argument capacity.DynamicResourceAllocationEnable has no effect: Volcano v1.14.4 has no quotas of device classes")
	}
	_, problems := arguments.Parse(variant(arguments.Proportion), framework.Arguments{arguments.DeviceCapacities: true})
	assert.Equal(t, []string{"argument capacity.DRAConsumableCapacityEnable has no effect: the plugin proportion has no quotas of device classes"}, problems)
}
