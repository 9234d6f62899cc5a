package volcano

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// Files of a trial in its directory.
const (
	reportFile       = "report.json"
	suiteLog         = "suite.log"
	schedulerLog     = "scheduler.log"
	controlPlaneLog  = "control-plane.log"
	artifacts        = "artifacts"
	clusterReadiness = time.Minute
)

// trial is one run of a suite, or of some of its specs.
type trial struct {
	suite         suite
	configuration configuration
	scheduler     string
	directory     string // of its logs and its report, below the directory of the programs
	specs         string // a regular expression; empty means all
}

// String returns the text that the parent process passes to the process of a trial.
func (t trial) String() string {
	return strings.Join([]string{t.suite.name, t.configuration.name, t.scheduler, t.directory}, ",")
}

// parseTrial parses the text of String.
func parseTrial(text string) (trial, error) {
	words := strings.Split(text, ",")
	if len(words) != 4 {
		return trial{}, fmt.Errorf("%q has not the form suite,configuration,scheduler,directory", text)
	}

	t := trial{scheduler: words[2], directory: words[3]}
	for _, s := range suitesOf(releaseOfModule()) {
		if s.name == words[0] {
			t.suite = s
		}
	}
	for _, c := range configurations {
		if c.name == words[1] {
			t.configuration = c
		}
	}
	if t.suite.name == "" || t.configuration.name == "" {
		return trial{}, fmt.Errorf("%q names no suite or no configuration", text)
	}

	return t, nil
}

// program returns the path of a built program.
func (t trial) program(name string) string { return filepath.Join(filepath.Dir(t.directory), name) }

// runAlone runs a trial in this process.
func runAlone(ctx context.Context, text, specs string) (err error) {
	t, err := parseTrial(text)
	if err != nil {
		return err
	}

	t.specs = specs

	cp, err := controlplane.Start(ctx, controlplane.Options{Commands: true})
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, cp.Stop()) }()

	// Watching clients must disconnect before the control plane stops.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	scheduler, err := t.install(ctx, cp)
	if err != nil {
		return err
	}

	defer func() {
		log, logErr := scheduler.Log()
		err = errors.Join(err, logErr, os.WriteFile(filepath.Join(t.directory, schedulerLog), []byte(log), 0o644))
	}()
	go func() {
		select {
		case <-scheduler.Exited():
			cancel(fmt.Errorf("the scheduler ended with status %d", scheduler.Status()))
		case <-ctx.Done():
		}
	}()

	err = awaitQueues(ctx, cp)
	if err != nil {
		return err
	}

	err = t.runSpecs(ctx, cp.Kubeconfig())
	if err != nil {
		return err
	}

	return context.Cause(ctx)
}

// install starts all components of the cluster of Volcano's CI.
func (t trial) install(ctx context.Context, cp *controlplane.ControlPlane) (*controlplane.Process, error) {
	conf, err := t.configuration.text()
	if err != nil {
		return nil, err
	}

	controllers := []func(context.Context) error{
		cp.StartWorkloadControllers, cp.StartJobControllers,
		func(ctx context.Context) error { return startKubeScheduler(ctx, cp) },
	}
	for _, start := range controllers {
		err := start(ctx)
		if err != nil {
			return nil, err
		}
	}
	err = furnish(ctx, cp, t.suite, conf)
	if err != nil {
		return nil, err
	}

	var gates []string
	if t.suite.gates != "" {
		gates = []string{"--feature-gates=" + t.suite.gates}
	}
	_, err = cp.StartWebhooks(ctx, t.program("webhook-manager"), gates...)
	if err != nil {
		return nil, err
	}

	directory, err := cp.Mount(ctx, controlplane.VolcanoNamespace, schedulerConfigMap)
	if err != nil {
		return nil, err
	}

	// The flags of Volcano's chart, except for the addresses and less log output.
	flags := append(gates, "--logtostderr", "--scheduler-conf="+filepath.Join(directory, schedulerConfFile),
		"--enable-healthz=true", "--enable-metrics=true", "--leader-elect=false",
		"--kube-api-qps=2000", "--kube-api-burst=2000", "--schedule-period=1s", "--node-worker-threads=20", "-v=3")

	return cp.StartProcess(t.program(t.scheduler), flags...)
}

// awaitQueues waits until the queue that the scheduler creates is open.
func awaitQueues(ctx context.Context, cp *controlplane.ControlPlane) error {
	open := func(ctx context.Context) (bool, error) {
		queue, err := cp.Volcano.SchedulingV1beta1().Queues().Get(ctx, "default", metav1.GetOptions{})
		return err == nil && queue.Status.State == v1beta1.QueueStateOpen, nil
	}

	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, clusterReadiness, true, open)
	if err != nil {
		return fmt.Errorf("waiting for the queue default: %w", errors.Join(err, context.Cause(ctx)))
	}

	return nil
}

// runSpecs runs the program of the suite. Failed specs are no error.
func (t trial) runSpecs(ctx context.Context, kubeconfig string) error {
	log, err := os.Create(filepath.Join(t.directory, suiteLog))
	if err != nil {
		return err
	}

	defer log.Close()

	report := filepath.Join(t.directory, reportFile)
	err = os.RemoveAll(report)
	if err != nil {
		return err
	}

	arguments := []string{
		"-ginkgo.json-report=" + report, "-ginkgo.skip=" + skipPattern(t.suite.name),
		"-ginkgo.seed=1", "-ginkgo.timeout=2h", "-ginkgo.no-color", "-ginkgo.v",
	}
	if t.specs != "" {
		arguments = append(arguments, "-ginkgo.focus="+t.specs)
	}
	command := exec.CommandContext(ctx, t.program(t.suite.name+".test"), arguments...)
	command.Dir = t.directory
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "VC_BIN="+filepath.Dir(t.directory),
		"ARTIFACTS_PATH="+filepath.Join(t.directory, artifacts))
	command.Stdout = log
	command.Stderr = log
	err = command.Run()

	// With failed specs, the suite exits with an error and a report.
	exit := (*exec.ExitError)(nil)
	if errors.As(err, &exit) && ctx.Err() == nil {
		_, missing := os.Stat(report)
		if missing == nil {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("running the suite (log: %s): %w", log.Name(), errors.Join(err, context.Cause(ctx)))
	}

	return nil
}
