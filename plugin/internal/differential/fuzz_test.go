package differential_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/framework"
	upstreamcapacity "volcano.sh/volcano/pkg/scheduler/plugins/capacity"
	upstreamproportion "volcano.sh/volcano/pkg/scheduler/plugins/proportion"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// FuzzCapacity is TestDifferential with clusters and events drawn from bytes.
func FuzzCapacity(f *testing.F) {
	fuzzUpstream(f, upstreamcapacity.New, session.BuilderOf(session.CapacityName).Variant)
}

// FuzzProportion is the same for proportion.
func FuzzProportion(f *testing.F) {
	fuzzUpstream(f, upstreamproportion.New, session.BuilderOf(session.ProportionName).Variant)
}

func fuzzUpstream(f *testing.F, theirs framework.PluginBuilder, ours arguments.Variant) {
	testbed.AddSeeds(f)
	runs := uint64(0)
	f.Fuzz(func(t *testing.T, data []byte) {
		runs++
		r := workload.Bytes(data)
		d := &differential{
			// A builder of its own: a failure then depends on the input alone.
			name: ours.Name, theirBuilder: theirs, ourBuilder: (&session.Builder{Variant: ours}).Build,
			excused: map[string]int{}, rand: r, cluster: workload.Draw(r), seed: runs,
		}
		require.NoError(t, d.run())
	})
}
