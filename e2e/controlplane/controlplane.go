package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	vcclientset "volcano.sh/apis/pkg/client/clientset/versioned"
)

// ErrRunning is returned by Start while another control plane of this process has not been stopped.
var ErrRunning = errors.New("another control plane is running in this process")

// ComponentLabel is the label of samples in profiles. It names the stage of Start that started the goroutine. The
// connections of the clients of a ControlPlane count as kube-apiserver.
const ComponentLabel = "component"

// running guards the process-wide state that the components share.
var running atomic.Bool

// Options are the caller's choices. The zero value is good for tests.
type Options struct {
	// Progress, if set, is called once per finished stage of Start with the time since Start was called.
	Progress func(stage string, elapsed time.Duration)
	// SchedulePeriod is the time between two scheduling cycles. Default: 200ms, Volcano's own default being one second.
	SchedulePeriod time.Duration
	// Commands makes pods end as their commands do: a shell's sleeps and exits. Pods run on nodes that exist, and take
	// time to end when they are deleted. By default every bound pod runs until it is deleted, and then it is gone.
	Commands bool
	// Compaction is the time between two compactions of etcd. Each discards the revisions before the previous one.
	// Default: 5m, as in kube-apiserver.
	Compaction time.Duration
	// Environment holds variables for StartProcess, in addition to the variables of this process: key=value.
	Environment []string
}

// ControlPlane is a running control plane. Its clients are not throttled.
type ControlPlane struct {
	// RestConfig, Kube and Volcano speak to the API server as a member of system:masters.
	RestConfig *rest.Config
	Kube       kubernetes.Interface
	Volcano    vcclientset.Interface
	// Address is where the API server listens, host and port.
	Address string

	schedulePeriod time.Duration
	commands       bool
	compaction     time.Duration
	environment    []string
	directory      string
	log            *logFile
	etcd           *etcdserver.EtcdServer
	// stopAPIServer ends the running API server.
	stopAPIServer func() error
	// stops undo the steps of Start and StartScheduler. Stop calls them from the last to the first.
	stops []func() error
}

// Start boots the control plane and returns once Volcano's controllers run. The scheduler is started separately. If
// Start fails, or if ctx ends first, it stops all components again. The error names the log, which is kept.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	if !running.CompareAndSwap(false, true) {
		return nil, ErrRunning
	}

	cp := &ControlPlane{
		schedulePeriod: options.SchedulePeriod,
		commands:       options.Commands,
		compaction:     options.Compaction,
		environment:    options.Environment,
	}
	if cp.schedulePeriod == 0 {
		cp.schedulePeriod = 200 * time.Millisecond
	}

	err := cp.boot(ctx, options.Progress)
	if err == nil {
		return cp, nil
	}

	if ctx.Err() == nil && cp.log != nil {
		kept, keepErr := cp.KeepLog()
		if keepErr == nil {
			err = fmt.Errorf("%w (log: %s)", err, kept)
		}
	}
	stopErr := cp.Stop()
	if stopErr != nil {
		return nil, fmt.Errorf("%v; then stopping: %w", err, stopErr)
	}

	return nil, err
}

// boot runs the stages of Start in order and stops between two of them when ctx has ended.
func (cp *ControlPlane) boot(ctx context.Context, progress func(string, time.Duration)) error {
	start := time.Now()
	err := cp.createDirectory()
	if err != nil {
		return fmt.Errorf("creating the working directory: %w", err)
	}

	stages := []struct {
		name string
		run  func(context.Context) error
	}{
		{"etcd", cp.startEtcd},
		{"kube-apiserver", cp.startAPIServer},
		{"Volcano's resource definitions", cp.createDefinitions},
		{"Volcano's controllers", cp.startControllers},
		{"kubelet", cp.startKubelet},
		{"garbage collector", cp.startGarbageCollector},
	}
	for _, stage := range stages {
		if err := ctx.Err(); err != nil {
			return err
		}

		err := labeled(ctx, stage.name, stage.run)
		if err != nil {
			return fmt.Errorf("starting %s: %w", stage.name, err)
		}

		if progress != nil {
			progress(stage.name, time.Since(start))
		}
	}

	return nil
}

// labeled runs a stage. In profiles, its goroutines have the name of the stage.
func labeled(ctx context.Context, name string, run func(context.Context) error) (err error) {
	pprof.Do(ctx, pprof.Labels(ComponentLabel, name), func(ctx context.Context) { err = run(ctx) })
	return err
}

// createDirectory creates the directory for all files and sends the logs of the components to a file there.
func (cp *ControlPlane) createDirectory() error {
	directory, err := os.MkdirTemp("", "controlplane-")
	if err != nil {
		return err
	}

	cp.directory = directory
	cp.stops = append(cp.stops, func() error { return os.RemoveAll(directory) })

	log, err := openLog(cp.path("log"))
	if err != nil {
		return err
	}

	cp.log = log
	cp.stops = append(cp.stops, log.close)

	return nil
}

// atStop adds a step to Stop.
func (cp *ControlPlane) atStop(step func()) {
	cp.stops = append(cp.stops, func() error {
		step()
		return nil
	})
}

// path returns the path of a file in the control plane's directory.
func (cp *ControlPlane) path(name string) string {
	return filepath.Join(cp.directory, name)
}

// KeepLog moves the components' log out of the directory that Stop removes and returns its new path. Logging goes on
// into the moved file.
func (cp *ControlPlane) KeepLog() (string, error) {
	kept := cp.directory + ".log"
	err := os.Rename(cp.path("log"), kept)
	if err != nil {
		return "", fmt.Errorf("keeping the log: %w", err)
	}

	return kept, nil
}

// Stop stops all components in the reverse order of their start and removes the directory. It takes a second or two. It
// reports a component that does not stop in time, and leaves it running until the process ends.
func (cp *ControlPlane) Stop() error {
	klog.Flush()

	var errs []error
	for i := len(cp.stops) - 1; i >= 0; i-- {
		errs = append(errs, cp.stops[i]())
	}
	cp.stops = nil
	running.Store(false)

	return errors.Join(errs...)
}
