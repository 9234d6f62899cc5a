package controlplane

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// processShutdown bounds the time until a process stops.
const processShutdown = 10 * time.Second

// Process is a program in a separate process, as in a Deployment. Stop of the control plane kills it.
type Process struct {
	// Metrics is the URL of a scheduler's metrics, if they are enabled.
	Metrics string

	command   *exec.Cmd
	directory string
	exited    chan struct{}
}

// StartProcess runs a scheduler, the program at a path, with the given flags. It adds free addresses and a kubeconfig
// for the admin. The given flags override these. It does not wait.
func (cp *ControlPlane) StartProcess(program string, flags ...string) (*Process, error) {
	metrics, healthz, err := freeAddresses()
	if err != nil {
		return nil, err
	}

	own := []string{"--kubeconfig=" + cp.Kubeconfig(), "--listen-address=" + metrics, "--healthz-address=" + healthz}
	p, err := cp.StartProgram("scheduler", program, append(own, flags...)...)
	if err != nil {
		return nil, err
	}

	p.Metrics = "http://" + metrics + "/metrics"

	return p, nil
}

// StartProgram runs a program with a separate directory for its log and its files. The name of the directory begins
// with the given name. It does not wait.
func (cp *ControlPlane) StartProgram(name, program string, arguments ...string) (*Process, error) {
	directory, err := os.MkdirTemp(cp.directory, name+"-")
	if err != nil {
		return nil, err
	}

	p := &Process{directory: directory, exited: make(chan struct{})}
	log, err := os.Create(filepath.Join(p.directory, "log"))
	if err != nil {
		return nil, err
	}

	defer log.Close()
	p.command = exec.Command(program, arguments...)
	p.command.Env = append(os.Environ(), "DEBUG_SOCKET_DIR="+p.directory, "TMPDIR="+p.directory)
	p.command.Env = append(p.command.Env, cp.environment...)
	p.command.Stdout = log
	p.command.Stderr = log
	err = p.command.Start()
	if err != nil {
		return nil, err
	}

	go func() {
		_ = p.command.Wait() // the state of the process holds the error, too
		close(p.exited)
	}()
	cp.stops = append(cp.stops, p.Kill)

	return p, nil
}

// freeAddresses returns two addresses without a listener. The schedulers take no listeners, only addresses.
func freeAddresses() (first, second string, err error) {
	listen := func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
	one, err := listen()
	if err != nil {
		return "", "", err
	}

	two, err := listen()
	if err != nil {
		return "", "", errors.Join(err, one.Close())
	}

	return one.Addr().String(), two.Addr().String(), errors.Join(one.Close(), two.Close())
}

// PID returns the number of the process.
func (p *Process) PID() int { return p.command.Process.Pid }

// Exited returns a channel that is closed when the process has ended. Then Status returns its exit status.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Status returns the exit status of a process that has ended, -1 if a signal ended it.
func (p *Process) Status() int { return p.command.ProcessState.ExitCode() }

// Log returns the output of the process so far.
func (p *Process) Log() (string, error) {
	text, err := os.ReadFile(filepath.Join(p.directory, "log"))
	return string(text), err
}

// Stop terminates the process, as Kubernetes does, and waits for it.
func (p *Process) Stop() error { return p.end(syscall.SIGTERM) }

// Kill ends the process at once, and waits for it.
func (p *Process) Kill() error { return p.end(os.Kill) }

// Pause suspends the process until Continue.
func (p *Process) Pause() error { return p.command.Process.Signal(syscall.SIGSTOP) }

// Continue resumes a paused process.
func (p *Process) Continue() error { return p.command.Process.Signal(syscall.SIGCONT) }

func (p *Process) end(signal os.Signal) error {
	select {
	case <-p.exited:
		return nil
	default:
	}

	err := p.command.Process.Signal(signal)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}

	select {
	case <-p.exited:
		return nil
	case <-time.After(processShutdown):
		return fmt.Errorf("process %d did not end within %s", p.PID(), processShutdown)
	}
}
