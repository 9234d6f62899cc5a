package plugin

import (
	"os"
	"testing"

	"github.com/capacity-card/capacity-card/plugin/offline"
)

func TestMain(m *testing.M) {
	offline.Quiet()
	os.Exit(m.Run())
}
