package torture

import (
	"context"
	"fmt"
	"time"

	"github.com/capacity-card/capacity-card/e2e/history/check"
)

// fault is one kind of failure. inject returns when the failure is over.
type fault struct {
	name string
	// blind faults delay the observations or actions of the scheduler. The other faults are changes that it sees.
	blind bool
	// rare faults are injected only if they are named, because other components of this process need minutes to
	// recover.
	rare   bool
	inject func(*round, context.Context) error
	// can reports whether the round meets the needs of the fault. nil: it has no needs.
	can func(*Options) bool
}

var faults = []fault{
	{name: "kill", blind: true, inject: (*round).killLeader},
	{name: "kill-both", blind: true, inject: (*round).killBoth},
	{name: "pause", blind: true, inject: (*round).pauseLeader},
	{name: "cut", blind: true, inject: (*round).cutLeader},
	{name: "cut-watches", blind: true, inject: (*round).cutWatches},
	{name: "slow", blind: true, inject: (*round).slow},
	{name: "errors", blind: true, inject: (*round).answerErrors},
	{name: "lost", blind: true, inject: (*round).loseAnswers},
	{name: "apiserver", blind: true, rare: true, inject: (*round).restartAPIServer},
	{name: "reload", blind: true, inject: (*round).reload},
	{name: "rollback", blind: true, inject: (*round).rollBack, can: func(o *Options) bool { return o.Volcano != "" }},
	{name: "disk-full", blind: true, inject: (*round).fillDisk},
	{name: "webhooks", inject: (*round).loseWebhooks, can: func(o *Options) bool { return o.Webhooks != nil }},
	{name: "node-flaps", inject: (*round).flapNode},
	{name: "node-labels", inject: (*round).relabelNode},
	{name: "node-shrinks", inject: (*round).shrinkNode},
	{name: "node-anew", inject: (*round).renewNode},
	{name: "node-partitions", inject: (*round).partitionNode},
}

// inject injects a fault and marks it.
func (r *round) inject(ctx context.Context, f fault) error {
	r.log("fault %s", f.name)
	if f.blind {
		r.writer.Mark(check.Fault, f.name, "")
	} else {
		r.writer.Mark(check.Note, f.name, "")
	}

	err := f.inject(r, ctx)
	if f.blind {
		r.writer.Mark(check.FaultEnds, f.name, "")
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("fault %s: %w", f.name, err)
	}

	return nil
}

// pause waits, unless the round ends first.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
