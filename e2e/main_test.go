// Package e2e tests the plugins on a real control plane. As users do, tests apply manifests, and read pods, conditions
// and events. They do not call the plugins.
//
// One control plane serves the whole package; it boots with the first test that needs it. Tests run one after the
// other, and each leaves the cluster as it found it: with the nodes of examples/cards and nothing else. They watch for
// the state that they expect, and never wait by the clock.
package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/guard"
)

// schedulePeriod is short, so that tests that span many scheduling cycles do not take long.
const schedulePeriod = 100 * time.Millisecond

// cluster is the control plane with the helpers that the tests need.
type cluster struct {
	*controlplane.ControlPlane
	*mirror
	load *load
	// namespace is the namespace of the objects that the tests create.
	namespace string

	// hangUp ends the watches on the API server, so that the API server need not wait for them when it stops.
	hangUp        func()
	stopScheduler func()
	// ticks counts the jobs of cycles.
	ticks int
}

// theCluster is nil until the first test needs it.
var theCluster *cluster

// bootOnce starts the control plane, the workload controllers and the mirror. The scheduler is left to the tests.
var bootOnce = sync.OnceValues(func() (*cluster, error) {
	ctx, cancel := context.WithCancel(context.Background())
	cp, err := controlplane.Start(ctx, controlplane.Options{SchedulePeriod: schedulePeriod})
	if err != nil {
		cancel()
		return nil, err
	}
	c := &cluster{ControlPlane: cp, load: &load{}, namespace: metav1.NamespaceDefault, hangUp: cancel}
	theCluster = c
	if err := startWorkloadControllers(ctx, cp, c.load); err != nil {
		return nil, err
	}
	c.mirror, err = startMirror(ctx, cp)
	return c, err
})

// boot returns the control plane of the package.
func boot(t *testing.T) *cluster {
	t.Helper()
	c, err := bootOnce()
	require.NoError(t, err)
	return c
}

// schedule starts a scheduler with a configuration, in place of the one that runs.
func (c *cluster) schedule(t *testing.T, configuration string) {
	t.Helper()
	if c.stopScheduler != nil {
		c.stopScheduler()
	}
	// A scheduler ignores unknown keys.
	require.NoError(t, yaml.UnmarshalStrict([]byte(configuration), &conf.SchedulerConfiguration{}))
	require.NoError(t, guard.Check(configuration))

	// Each scheduler watches a directory of its own, which goes with the control plane.
	directory, err := os.MkdirTemp(filepath.Dir(c.Kubeconfig()), "scheduler-")
	require.NoError(t, err)
	path := filepath.Join(directory, "volcano-scheduler.conf")
	require.NoError(t, os.WriteFile(path, []byte(configuration), 0o600))
	c.stopScheduler, err = c.StartScheduler(path)
	require.NoError(t, err)
}

func TestMain(m *testing.M) {
	plugin.Register()
	status := m.Run()
	if theCluster != nil {
		if status != 0 {
			if kept, err := theCluster.KeepLog(); err == nil {
				fmt.Println("The log of the control plane is kept in", kept)
			}
		}
		theCluster.hangUp()
		if err := theCluster.Stop(); err != nil {
			fmt.Println("Stopping the control plane:", err)
			status = 1
		}
	}
	os.Exit(status)
}
