package testbed

import (
	"os"
	"runtime/debug"
	"testing"

	_ "volcano.sh/volcano/pkg/scheduler/actions" // registers all actions

	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// Main runs the tests of a package that opens sessions, with the actions of the plugin, and ends the process.
func Main(m *testing.M) {
	offline.Quiet()
	session.RegisterActions()
	debug.SetGCPercent(400) // the heap is small, and random worlds make much garbage
	os.Exit(m.Run())
}
