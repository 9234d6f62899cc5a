package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// The files of the playground, below the directory from which the demo is run.
const (
	binaries   = "bin"
	settings   = "bin/playground"            // the settings of a shell
	kubeconfig = "bin/playground.kubeconfig" // a link
)

// installation is the kustomization of the scheduler and its configuration.
const installation = "cmd/demo/installation"

// controlPlaneNode runs Volcano's own pods.
const controlPlaneNode = "control-plane"

// install puts the objects of an installation into the cluster: Volcano's controllers, and the scheduler with its
// configuration. Volcano's webhooks are left out, because nothing here answers them.
func install(ctx context.Context, cp *controlplane.ControlPlane) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: controlplane.VolcanoNamespace}}
	_, err := cp.Kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %s: %w", namespace.Name, err)
	}

	controllers, err := controlplane.VolcanoInstallation("volcano-controllers")
	if err != nil {
		return err
	}

	scheduler, err := controlplane.Render(installation)
	if err != nil {
		return fmt.Errorf("%w (the demo runs in the root of the repository)", err)
	}

	if err := cp.Apply(ctx, controllers, "volcano"); err != nil {
		return err
	}
	return cp.Apply(ctx, scheduler, "kubectl")
}

// open makes a playground of the cluster of the story: it adds nodes, runs the Deployments, and writes the settings of
// a shell.
func open(ctx context.Context, cp *controlplane.ControlPlane, metrics string) error {
	const role = "node-role.kubernetes.io/control-plane"
	own := newNode(controlPlaneNode, map[string]string{role: ""}, nil)
	own.Spec.Taints = []corev1.Taint{{Key: role, Effect: corev1.TaintEffectNoSchedule}}
	l40s := newNode("l40s-1", map[string]string{"nvidia.com/gpu.product": "NVIDIA-L40S"},
		map[corev1.ResourceName]int64{gpu: 8})

	for _, node := range []*corev1.Node{own, l40s} {
		if _, err := cp.Kube.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating node %s: %w", node.Name, err)
		}
	}

	if err := cp.StartDefaultScheduler(ctx, controlPlaneNode); err != nil {
		return fmt.Errorf("playing kube-scheduler: %w", err)
	}
	if err := cp.StartWorkloadControllers(ctx); err != nil {
		return err
	}
	if err := cp.StartJobControllers(ctx); err != nil {
		return err
	}
	if err := cp.StartPodCollector(ctx); err != nil {
		return err
	}
	return writeSettings(cp.Kubeconfig(), metrics)
}

// writeSettings writes the files that a shell needs to use the playground, the settings last.
func writeSettings(config, metrics string) error {
	directory, err := filepath.Abs(binaries)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}

	if err := removeSettings(); err != nil {
		return err
	}
	if err := os.Symlink(config, kubeconfig); err != nil {
		return err
	}

	text := fmt.Sprintf("export KUBECONFIG='%s/%s'\nexport PATH='%s':\"$PATH\"\nexport METRICS=http://%s/metrics\n",
		directory, filepath.Base(kubeconfig), directory, metrics)
	return os.WriteFile(settings, []byte(text), 0o600)
}

// removeSettings removes the files of a playground that is closed.
func removeSettings() error {
	var errs []error
	for _, file := range []string{settings, kubeconfig} {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// cardctl is the program that serves pages about the playground: docs/view.md. It runs in a process of its own, because
// a process has one session of the scheduler at a time.
const cardctl = "bin/cardctl"

// servePages starts the pages of cardctl, and returns their address. If they do not start, it returns the commands that
// start them. The function end stops the pages.
func servePages(ctx context.Context, config, metrics string) (address string, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	command := exec.CommandContext(ctx, cardctl, "serve", "--kubeconfig", config, "--listen", "127.0.0.1:0",
		"--metrics", "http://"+metrics+"/metrics")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = pagesPatience
	// Ctrl-C in the terminal is for the demo, which ends the pages.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	printed, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		cancel()
		return "make cardctl && bin/cardctl serve", func() {}
	}

	end = func() {
		cancel()
		_ = command.Wait()
	}

	// The program prints its address once it listens.
	line, err := bufio.NewReader(printed).ReadString('\n')
	if err != nil {
		end()
		return "bin/cardctl serve", func() {}
	}
	return strings.TrimSpace(line), end
}

// pagesPatience is the time that the pages have to end.
const pagesPatience = 5 * time.Second

// tellAndStay plays the story and then stays. The pages are open from the start, so that they show the whole story.
func tellAndStay(ctx context.Context, cp *controlplane.ControlPlane, board *board) error {
	metrics, err := cp.ServeMetrics()
	if err != nil {
		return fmt.Errorf("serving the metrics: %w", err)
	}

	pages, end := servePages(ctx, cp.Kubeconfig(), metrics)
	defer end()

	if err := tell(ctx, cp, board); err != nil {
		return err
	}
	return stay(ctx, cp, board, metrics, pages)
}

// stay opens the playground, and prints events until the demo is interrupted. The interrupt is no error here.
func stay(ctx context.Context, cp *controlplane.ControlPlane, board *board, metrics, pages string) (err error) {
	defer func() { err = errors.Join(err, removeSettings()) }()

	if err := open(ctx, cp, metrics); err != nil {
		return err
	}

	if _, err := board.next(ctx); err != nil && ctx.Err() == nil {
		return err
	}

	fmt.Fprintf(board.out, `
The control plane stays up, with a node l40s-1 for the pages. In another terminal, in this directory:

  make cardctl kubectl      # bin/cardctl, and bin/kubectl if you have none
  source %s     # sets KUBECONFIG, PATH and METRICS
  kubectl get queues,jobs.batch.volcano.sh,podgroups,pods
  cardctl explain

pages        %s
API server   https://%s (%s)
metrics      http://%s/metrics
health       http://%s/healthz

These are real: etcd, the API server, Volcano's controllers and scheduler, and Kubernetes' controllers
of Deployments, ReplicaSets, Jobs and namespaces. Nodes and kubelets are simulated: pods run without
a container until they are deleted, and pods of a deleted node are deleted with it. There are no
webhooks, and no controllers of StatefulSets, DaemonSets and Kubernetes' CronJobs.

docs/quickstart.md and docs/cardctl.md continue here. Ctrl-C stops the control plane and removes
everything. Until then, what happens in it is printed below.

`, settings, pages, cp.Address, kubeconfig, metrics, metrics)

	if err := board.follow(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
