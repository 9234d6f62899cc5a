package testbed

import (
	"runtime/debug"

	_ "volcano.sh/volcano/pkg/scheduler/actions" // registers all actions

	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// init prepares each test binary that opens sessions: Volcano logs nothing, and reclaim and preempt are the plugin's.
func init() {
	offline.Quiet()
	session.RegisterActions()
	debug.SetGCPercent(400) // the heap is small, and random worlds make much garbage
}
