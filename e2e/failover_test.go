package e2e

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
)

// slowly has a scheduler bind some five pods a second, so that it can be stopped between two of them.
var slowly = []string{"--kube-api-qps=5", "--kube-api-burst=1"}

// electing has schedulers elect one among them, and notice within seconds that it is gone.
var electing = []string{
	"--leader-elect=true", "--leader-elect-resource-namespace=" + volcanoNamespace,
	"--leader-elect-lease-duration=7s", "--leader-elect-renew-deadline=5s", "--leader-elect-retry-period=500ms",
}

// The log of a scheduler that leads, and of one that waits. client-go v0.35 begins with a capital.
const leads, waits = "uccessfully acquired lease", "ttempting to acquire leader lease"

// bound waits until at least one of a workload's pods has a node, and returns how many have.
func (c *cluster) bound(t *testing.T, workload string) int {
	t.Helper()
	n := 0
	c.until(t, func() string {
		n = len(c.pods(workload)) - len(c.waiting(workload))
		if n == 0 {
			return "no pod of " + workload + " has a node"
		}
		return ""
	})
	return n
}

// TestSchedulerKilledMidGang kills the scheduler when some pods of a gang have their nodes and others do not. The next
// scheduler completes the gang, and takes nothing else for it.
func TestSchedulerKilledMidGang(t *testing.T) {
	c := plane(t, "nodes.yaml")
	program, configuration := build(t, ours), exampleConfiguration(t)
	first := c.run(t, program, configuration, slowly...)
	c.queue(t, "gangs", `{"NVIDIA-H200": 7}`)
	c.submit(t, "gang", "gangs", h200, 7, gang)
	c.bound(t, "gang")
	require.NoError(t, first.Kill())
	require.Less(t, c.bound(t, "gang"), 7, "the scheduler was to be killed in mid-gang")
	c.submit(t, "rival", "gangs", h200, 1)

	second := c.run(t, program, configuration)
	c.runs(t, "gang", map[string]int{h200: 7}, 0)
	c.runs(t, "rival", map[string]int{}, 1)
	c.says(t, "rival", insufficient("gangs", h200, 1, 8, 7))
	second.measures(t, `volcano_queue_allocated_scalar_resources{queue_name="gangs",resource="NVIDIA-H200"} 7000`)
}

// TestLeaderKilled has two schedulers, and kills the leader in mid-cycle. The other scheduler goes on where the leader
// was, and no queue gets more than its quota in between.
func TestLeaderKilled(t *testing.T) {
	c := plane(t, "nodes.yaml")
	program, configuration := build(t, ours), exampleConfiguration(t)
	leader := c.run(t, program, configuration, append(slowly, electing...)...)
	leader.logs(t, leads)
	standby := c.run(t, program, configuration, electing...)
	standby.logs(t, waits)

	c.queue(t, "either", `{"NVIDIA-GeForce-RTX-4090": 7, "NVIDIA-GeForce-RTX-4090-D": 7}`)
	c.submit(t, "many", "either", rtx4090+"|"+rtx4090D, 20)
	c.bound(t, "many")
	require.NotContains(t, standby.log(t), leads)
	require.NoError(t, leader.Kill())
	require.Less(t, c.bound(t, "many"), 14, "the leader was to be killed in mid-cycle")

	c.runs(t, "many", map[string]int{rtx4090: 7, rtx4090D: 7}, 6)
	require.Contains(t, standby.log(t), leads)
	c.cycles(t, 4)
	c.runs(t, "many", map[string]int{rtx4090: 7, rtx4090D: 7}, 6)
}

// wire connects a scheduler with the API server, and can be cut.
type wire struct {
	listener net.Listener
	to       string

	mu   sync.Mutex
	cut  bool
	ends []net.Conn
}

// lay returns a wire, and a kubeconfig with which the admin uses it.
func lay(t *testing.T, c *cluster) (*wire, string) {
	t.Helper()
	admin, err := clientcmd.LoadFromFile(c.Kubeconfig())
	require.NoError(t, err)
	return layFor(t, c, admin.AuthInfos["user"].Token)
}

// layFor returns a wire, and a kubeconfig with which the user of a token uses it.
func layFor(t *testing.T, c *cluster, token string) (*wire, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{listener: listener, to: c.Address}
	go w.serve()
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		w.set(true)
	})
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, c.WriteKubeconfig(path, listener.Addr().String(), token))
	return w, path
}

func (w *wire) serve() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.to)
		if err != nil {
			near.Close()
			continue
		}
		w.mu.Lock()
		w.ends = append(w.ends, near, far)
		w.mu.Unlock()
		w.set(w.isCut())
		for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
			go func() {
				// An error means that the wire was cut.
				_, _ = io.Copy(pair[0], pair[1])
				pair[0].Close()
			}()
		}
	}
}

func (w *wire) isCut() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut
}

// set cuts the wire or mends it. Connections of a cut wire end, new ones at once.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut = cut; !cut {
		return
	}
	for _, end := range w.ends {
		end.Close()
	}
	w.ends = nil
}

// TestAPIServerAway takes the API server away from the scheduler for a while, in which pods finish, a quota is lowered
// and a job is submitted. Nothing is scheduled meanwhile, and afterwards all of it counts.
func TestAPIServerAway(t *testing.T) {
	c := plane(t, "nodes.yaml")
	w, kubeconfig := lay(t, c)
	p := c.run(t, build(t, ours), exampleConfiguration(t), "--kubeconfig="+kubeconfig)
	c.queue(t, "patient", `{"NVIDIA-H200": 4}`)
	c.submit(t, "away-first", "patient", h200, 3)
	c.submit(t, "long", "patient", h200, 1)
	c.runs(t, "away-first", map[string]int{h200: 3}, 0)
	c.runs(t, "long", map[string]int{h200: 1}, 0)

	w.set(true)
	p.logs(t, "connection re") // refused or reset
	c.complete(t, "away-first", 3)
	c.setQuota(t, "patient", `{"NVIDIA-H200": 3}`)
	c.submit(t, "away-second", "patient", h200, 3)
	p.cycles(t, 6)
	require.Empty(t, c.pods("away-second"))
	c.runs(t, "long", map[string]int{h200: 1}, 0)

	w.set(false)
	c.runs(t, "away-second", map[string]int{h200: 2}, 1)
	c.says(t, "away-second", insufficient("patient", h200, 1, 4, 3))
	select {
	case <-p.Exited():
		t.Fatal("the scheduler should have stayed")
	default:
	}
}

// TestLeaderCutOff takes the API server away from a leader. It gives up, as it must, since others may lead by then;
// once started again, which Kubernetes does, it goes on.
func TestLeaderCutOff(t *testing.T) {
	c := plane(t, "nodes.yaml")
	w, kubeconfig := lay(t, c)
	program, configuration := build(t, ours), exampleConfiguration(t)
	flags := append([]string{"--kubeconfig=" + kubeconfig}, electing...)
	p := c.run(t, program, configuration, flags...)
	c.apply(t, "queue.yaml", "job-single.yaml")
	c.runs(t, "cr-job", map[string]int{h200: 2}, 0)
	w.set(true)
	require.NotEqual(t, 0, p.ends(t))
	require.Contains(t, p.log(t), "leaderelection lost")
	c.submit(t, "cut-off", sixCards, h200, 2)
	w.set(false)
	c.run(t, program, configuration, flags...)
	c.runs(t, "cut-off", map[string]int{h200: 1}, 1)
	c.runs(t, "cr-job", map[string]int{h200: 2}, 0)
}

// TestSchedulersInSuccession starts and stops schedulers in one process. The cycles of one are over when it is stopped.
func TestSchedulersInSuccession(t *testing.T) {
	c := plane(t, "nodes.yaml")
	configuration := exampleConfiguration(t)
	for range 10 {
		c.schedule(t, configuration)
		c.stopScheduler()
		require.Zero(t, loops(t))
	}
	c.schedule(t, configuration)
	c.apply(t, "queue.yaml", "job-single.yaml")
	c.runs(t, "cr-job", map[string]int{h200: 2}, 0)
}

// loops is the number of schedulers of this process that run cycles.
func loops(t *testing.T) (n int) {
	var stacks strings.Builder
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&stacks, 2))
	for stack := range strings.SplitSeq(stacks.String(), "\n\n") {
		if strings.Contains(stack, "scheduler.(*Scheduler).Run in ") && strings.Contains(stack, "wait.Until") {
			n++
		}
	}
	return n
}

// TestSwap replaces Volcano's own scheduler by ours on a cluster that is in use, with the same configuration, and goes
// back. Running pods keep running, and each scheduler counts them.
func TestSwap(t *testing.T) {
	c := plane(t, hierarchy+"nodes.yaml")
	configuration := example[*corev1.ConfigMap](t, hierarchy+"scheduler.conf.yaml").Data["volcano-scheduler.conf"]
	theirs, mine := build(t, upstreams), build(t, ours)
	p := c.run(t, theirs, configuration)
	c.apply(t, hierarchy+"queues.yaml")
	running := map[types.UID]string{}
	untouched := func() {
		t.Helper()
		seen := 0
		for _, pod := range c.pods("") {
			if running[pod.UID] != "" {
				require.Equal(t, running[pod.UID], pod.Spec.NodeName)
				require.Nil(t, pod.DeletionTimestamp, pod.Name)
				seen++
			}
		}
		require.Equal(t, len(running), seen, "pods are gone")
		for _, pod := range c.pods("") {
			if pod.Spec.NodeName != "" {
				running[pod.UID] = pod.Spec.NodeName
			}
		}
	}
	for round, program := range []string{mine, theirs, mine} {
		name := fmt.Sprintf("round-%d", round)
		// prod may have 100 CPUs: after three of these it has 96.
		c.workers(t, name, "prod", 8, 4, 4)
		c.runs(t, name, map[string]int{"": 4}, 0)
		untouched()
		require.NoError(t, p.Stop())
		p = c.run(t, program, configuration)
		c.cpuJob(t, name+"-check", "sales", "1", "1Gi")
		c.runs(t, name+"-check", map[string]int{"": 1}, 0)
		p.measures(t, fmt.Sprintf(`volcano_queue_allocated_milli_cpu{queue_name="prod"} %d`, 32000*(round+1)))
		untouched()
	}
	c.workers(t, "beyond", "prod", 8, 1, 1)
	c.runs(t, "beyond", map[string]int{}, 0)
	untouched()
}
