package joborder_test

import (
	"testing"

	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }
