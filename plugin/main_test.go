package plugin

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/capacity-card/capacity-card/plugin/offline"
)

func TestMain(m *testing.M) {
	offline.Quiet()
	debug.SetGCPercent(400) // the heap is small, and random worlds make much garbage
	os.Exit(m.Run())
}
