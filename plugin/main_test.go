package plugin

import (
	"os"
	"testing"

	"github.com/capacity-card/capacity-card/bench/cluster"
)

func TestMain(m *testing.M) {
	cluster.Quiet()
	os.Exit(m.Run())
}
