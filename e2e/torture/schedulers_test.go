package torture

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
	"github.com/capacity-card/capacity-card/e2e/history"
	"github.com/capacity-card/capacity-card/e2e/history/check"
)

// lease is the time for which a lost leader prevents others from leading.
const lease = 4 * time.Second

// restartDelay is the time between the end of a process and its restart.
const restartDelay = 500 * time.Millisecond

// leads is the text in the log of a scheduler that became the leader.
const leads = "uccessfully acquired lease"

// replica is one of the schedulers: a process that restarts whenever it ends.
type replica struct {
	name  string
	proxy *proxy
	start func() (*controlplane.Process, error)

	mu      sync.Mutex
	process *controlplane.Process
	over    chan struct{}
	done    sync.WaitGroup
	err     error
}

// schedulers are the replicas, and their configuration.
type schedulers struct {
	replicas []*replica
	file     string
	program  atomic.Pointer[string]
}

// runs sets the program that the replicas run from their next start on.
func (s *schedulers) runs(program string) { s.program.Store(&program) }

// startSchedulers starts two schedulers of a program.
func startSchedulers(
	cp *controlplane.ControlPlane, program, directory, configuration string, w *history.Writer,
) (*schedulers, error) {
	// The scheduler watches the whole directory of its configuration.
	s := &schedulers{file: filepath.Join(directory, "conf", "volcano-scheduler.conf")}
	err := os.MkdirAll(filepath.Dir(s.file), 0o700)
	if err != nil {
		return nil, err
	}

	s.runs(program)
	err = s.write(configuration)
	if err != nil {
		return nil, err
	}

	for i := range 2 {
		r := &replica{name: fmt.Sprintf("scheduler-%d", i+1), over: make(chan struct{})}
		r.proxy, err = startProxy(cp, filepath.Join(directory, r.name+".kubeconfig"))
		if err != nil {
			return nil, err
		}

		r.start = func() (*controlplane.Process, error) {
			return cp.StartProcess(*s.program.Load(), s.flags(r.proxy.kubeconfig)...)
		}
		r.process, err = r.start()
		if err != nil {
			return nil, err
		}

		s.replicas = append(s.replicas, r)
		r.done.Add(1)
		go r.supervise(w)
	}

	return s, nil
}

// flags returns the flags of a scheduler.
func (s *schedulers) flags(kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--scheduler-conf=" + s.file,
		"--schedule-period=100ms",
		"--enable-metrics=true",
		"--leader-elect=true",
		"--leader-elect-resource-namespace=" + controlplane.VolcanoNamespace,
		"--leader-elect-lease-duration=" + lease.String(),
		"--leader-elect-renew-deadline=3s",
		"--leader-elect-retry-period=500ms",
	}
}

// write replaces the configuration. The schedulers notice the change.
func (s *schedulers) write(configuration string) error {
	temporary := s.file + ".new"
	err := os.WriteFile(temporary, []byte(configuration), 0o600)
	if err != nil {
		return err
	}

	return os.Rename(temporary, s.file)
}

// supervise restarts the process whenever it ends.
func (r *replica) supervise(w *history.Writer) {
	defer r.done.Done()
	for {
		select {
		case <-r.over:
			return
		case <-r.current().Exited():
		}
		w.Mark(check.Restart, r.name, "")

		select {
		case <-r.over:
			return
		case <-time.After(restartDelay):
		}
		next, err := r.start()

		r.mu.Lock()
		if err != nil {
			r.err = err
			r.mu.Unlock()
			return
		}

		r.process = next
		r.mu.Unlock()
	}
}

func (r *replica) current() *controlplane.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process
}

// leading reports whether the process has become the leader.
func (r *replica) leading() bool {
	select {
	case <-r.current().Exited():
		return false
	default:
	}

	log, err := r.current().Log()
	return err == nil && strings.Contains(log, leads)
}

// leader returns the replica that leads, or nil.
func (s *schedulers) leader() *replica {
	for _, r := range s.replicas {
		if r.leading() {
			return r
		}
	}

	return nil
}

// awaitLeader waits for a leader.
func (s *schedulers) awaitLeader(patience time.Duration) (*replica, error) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if r := s.leader(); r != nil {
			return r, nil
		}
	}

	return nil, fmt.Errorf("no scheduler leads after %s", patience)
}

// stop ends the schedulers.
func (s *schedulers) stop() error {
	for _, r := range s.replicas {
		close(r.over)
		r.done.Wait()
		if r.err != nil {
			return r.err
		}

		// Only a kill ends a paused process.
		err := errors.Join(r.current().Kill(), r.proxy.server.Close())
		if err != nil {
			return err
		}
	}

	return nil
}

// metrics returns the series of a replica that package check reads, and the number of its cycles.
func (r *replica) metrics() (string, error) {
	response, err := http.Get(r.current().Metrics)
	if err != nil {
		return "", err
	}

	defer response.Body.Close()

	var series strings.Builder
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "volcano_queue_") || strings.HasPrefix(line, "volcano_e2e_") {
			series.WriteString(line + "\n")
		}
	}

	return series.String(), lines.Err()
}

var cyclesSeries = regexp.MustCompile(`(?m)^volcano_e2e_scheduling_latency_milliseconds_count (\d+)$`)

// cycles returns the number of cycles that a replica has run.
func (r *replica) cycles() (int, error) {
	text, err := r.metrics()
	if err != nil {
		return 0, err
	}

	count := cyclesSeries.FindStringSubmatch(text)
	if count == nil {
		return 0, nil
	}

	return strconv.Atoi(count[1])
}
