// Package chaos runs random worlds: tenants, admins, nodes and restarts of the scheduler act, and invariants hold after
// each event. A scene repeats a world from text.
package chaos

import (
	"testing"

	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }
