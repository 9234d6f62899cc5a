package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// The quota engines of other schedulers, each in a module of its own below bench/peers.
const (
	peersDir     = "bench/peers"
	peersRaw     = results + "/peers.txt"
	peersPage    = "docs/dev/PEERS.md"
	peersTarget  = "bench-peers"
	peersRounds  = 10
	peersTime    = "0.1s"
	worldsDir    = "build/peers"
	worldsSeed   = 1
	peersBase    = "Peers/of="
	peersCommand = "make " + peersTarget
)

// peer is an engine: its directory and key, its name on the page, and the module that it measures.
type peer struct{ key, Name, Module string }

var peers = []peer{
	{"ours", "ours", ""},
	{"kueue", "Kueue", "sigs.k8s.io/kueue"},
	{"kai", "KAI", "github.com/NVIDIA/KAI-scheduler"},
	{"yunikorn", "YuniKorn", "github.com/apache/yunikorn-core"},
}

// peersQueues are the leaves of the worlds, in the order of the page.
var peersQueues = []int{10, 100, 1000, 5000}

// measurePeers puts the questions of bench/peers/question to all engines. In each round every engine
// has a process for each world, and in the first rounds another one for its whole scheduler.
func measurePeers(rounds int) error {
	watch, err := beginQuiet()
	if err != nil {
		return err
	}

	if err := writeWorlds(); err != nil {
		return err
	}
	header, err := peersHeader(rounds)
	if err != nil {
		return err
	}

	raw, err := watch.rounds(rounds, func(to io.Writer, round int) error {
		for _, n := range peersQueues {
			for i := range peers {
				// No engine is always the first.
				p := peers[(i+round)%len(peers)]
				fmt.Fprintf(os.Stderr, "round %d of %d: %s, %d queues\n", round+1, rounds, p.Name, n)
				if err := p.measure(to, round, n); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return writeRaw(peersRaw, header, raw)
}

// peersHeader builds the engines, and returns the head of the raw output with their versions.
func peersHeader(rounds int) (string, error) {
	commit, err := head()
	if err != nil {
		return "", err
	}

	header := fmt.Sprintf("target: %s\ncommit: %s\ngo: %s\nrounds: %d\n",
		peersTarget, commit, runtime.Version(), rounds)

	for _, p := range peers {
		if err := p.build(); err != nil {
			return "", err
		}
		if p.Module == "" {
			continue
		}

		version, err := p.version()
		if err != nil {
			return "", err
		}
		header += p.key + ": " + version + "\n"
	}
	return header, nil
}

// measure runs the questions in a round, and the whole scheduler in the first rounds.
func (p peer) measure(raw io.Writer, round, queues int) error {
	err := p.run(raw, queues, "Peers", peersTime, several...)
	if err != nil || round >= schedulersRounds {
		return err
	}
	return p.run(raw, queues, "Schedulers", "1x")
}

// writeWorlds writes a world for each number of queues.
func writeWorlds() error {
	if err := os.MkdirAll(worldsDir, 0o755); err != nil {
		return err
	}

	for _, n := range peersQueues {
		text, err := json.Marshal(workload.NewShared(workload.SharedFanout[n], worldsSeed))
		if err != nil {
			return err
		}

		path := filepath.Join(worldsDir, fmt.Sprintf("queues-%d.json", n))
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (p peer) binary() string { return filepath.Join(worldsDir, p.key+".test") }

// build compiles the benchmarks. The requirements of ours follow the requirements of this module by themselves.
func (p peer) build() error {
	out, err := filepath.Abs(p.binary())
	if err != nil {
		return err
	}

	args := []string{"test", "-C", filepath.Join(peersDir, p.key), "-vet=off", "-c", "-o", out}
	if p.Module == "" {
		args = append(args, "-mod=mod")
	}
	fmt.Fprintf(os.Stderr, "building %s; the first time, its Kubernetes is compiled\n", p.Name)
	return p.command("go", append(args, ".")...).Run()
}

// version returns the version of the module of the peer, with its commit.
func (p peer) version() (string, error) {
	command := p.command("go", "mod", "download", "-C", filepath.Join(peersDir, p.key), "-json", p.Module)
	command.Stdout = nil
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("finding the version of %s: %w", p.Name, err)
	}

	var downloaded struct {
		Version string
		Origin  struct{ Hash string }
	}
	if err := json.Unmarshal(text, &downloaded); err != nil {
		return "", err
	}

	// A proxy need not know the commit.
	if hash := downloaded.Origin.Hash; len(hash) > 12 {
		return downloaded.Version + " " + hash[:12], nil
	}
	return downloaded.Version, nil
}

// command returns a command without the flags of another release of Volcano.
func (p peer) command(name string, args ...string) *exec.Cmd {
	command := exec.Command(name, args...)
	command.Env = append(os.Environ(), "GOFLAGS=")
	command.Stdout = os.Stderr
	command.Stderr = os.Stderr
	return command
}

func (p peer) run(raw io.Writer, queues int, benchmark, time string, flags ...string) error {
	flags = append(flags, "-test.run", "^$", "-test.bench", "^Benchmark"+benchmark+"$", "-test.benchtime", time,
		"-worlds", worldsDir, "-queues", strconv.Itoa(queues))
	command := p.command(p.binary(), flags...)
	command.Stdout = raw

	if err := command.Run(); err != nil {
		return fmt.Errorf("measuring %s with %d queues: %w", p.Name, queues, err)
	}
	return nil
}
