package chaos

import (
	"os"
	"runtime/debug"
	"testing"

	_ "volcano.sh/volcano/pkg/scheduler/actions" // registers all actions

	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

func TestMain(m *testing.M) {
	offline.Quiet()
	session.RegisterActions()
	debug.SetGCPercent(400) // the heap is small, and random worlds make much garbage
	os.Exit(m.Run())
}
