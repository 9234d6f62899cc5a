package arguments_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// FuzzArguments parses arguments of every type. The settings are always valid, and
// each argument that is not used has a problem.
func FuzzArguments(f *testing.F) {
	for _, each := range [][2]string{{arguments.NodeOrderWeight, "1"}, {arguments.NodeOrderWeight, "-Inf"}, {arguments.CardUnlimitedCPUMemory, "true"},
		{arguments.RootCapability, "unlimited"}, {arguments.UnsetCapability, "zero"}, {arguments.UntypedCards, "reject"}, {"", ""}} {
		f.Add(each[0], each[1], 0.5, byte(0))
	}
	f.Fuzz(func(t *testing.T, key, text string, number float64, kind byte) {
		value := []any{text, number, int(min(max(number, -1e9), 1e9)), kind&1 == 0, nil, []any{text}, map[string]any{text: number}}[kind%7]
		known := slices.Contains(arguments.Known, key)
		for _, v := range []arguments.Variant{session.BuilderOf(session.Name).Variant, session.BuilderOf(session.CapacityName).Variant, session.BuilderOf(session.ProportionName).Variant} {
			byDefault, none := arguments.Parse(v, nil)
			require.Empty(t, none)
			s, problems := arguments.Parse(v, framework.Arguments{key: value})
			require.True(t, s.Cards.NodeOrderWeight > 0 && !math.IsInf(s.Cards.NodeOrderWeight, 0))
			require.Contains(t, []cards.UntypedCards{cards.UntypedCharge, cards.UntypedReject, cards.UntypedIgnore}, s.Cards.Untyped)
			require.LessOrEqual(t, len(problems), 1)
			if len(problems) == 1 {
				require.Equal(t, byDefault, s, problems)
				require.True(t, strings.Contains(problems[0], key))
			}
			require.False(t, !known && len(problems) == 0, "no problem names %q", key)
		}
	})
}
