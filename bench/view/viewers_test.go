package view

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// views are the pages that viewers open in turn.
var views = []string{"/", "/queues", "/waiting", "/cards", "/lending", "/history"}

var (
	program  = flag.String("program", "../../bin/cardctl", "the cardctl to measure, as seen from bench/view")
	viewers  = flag.Int("viewers", 0, "how many browsers are open; with 0 nothing is measured")
	duration = flag.Duration("time", time.Minute, "how long they are")
)

// TestViewers prints how long pages take, and fails if a viewer does.
func TestViewers(t *testing.T) {
	if *viewers > 0 {
		require.NoError(t, measure(*program, *viewers, *duration))
	}
}

func measure(program string, viewers int, duration time.Duration) error {
	shape := workload.L
	cluster, err := newCluster(shape.MakeCards(1))
	if err != nil {
		return err
	}

	server := httptest.NewServer(cluster)
	defer server.CloseClientConnections()

	s, err := start(program, server.URL)
	if err != nil {
		return err
	}
	defer s.stop()

	begun := time.Now()
	if err := s.await(); err != nil {
		return err
	}
	fmt.Printf("shape %s: %d nodes, %d queues, %d pods; readable after %.1f s\n",
		shape.Name, shape.Nodes, len(cluster.lists["queues"]), len(cluster.lists["pods"]), time.Since(begun).Seconds())
	s.report("without viewers")

	ctx, cancel := context.WithTimeout(context.Background(), duration)
	defer cancel()

	go cluster.change(ctx)

	var all sync.WaitGroup
	results := make([]result, viewers)
	for i := range viewers {
		all.Add(1)
		go func() {
			defer all.Done()
			results[i] = s.from(i/viewersOfAddress).view(ctx, views[i%len(views)])
		}()
	}
	all.Wait()

	s.report(fmt.Sprintf("with %d viewers for %s", viewers, duration))
	return summarize(results)
}

// result holds the measurements of one viewer.
type result struct {
	path  string
	took  []time.Duration // of pages
	bytes int
	err   error
}

// summarize prints a row for each page, and one for all pages. It returns the errors of the viewers.
func summarize(results []result) error {
	var errs []error
	for _, r := range results {
		errs = append(errs, r.err)
	}

	for _, path := range append([]string{""}, views...) {
		var took []time.Duration
		bytes := 0
		for _, r := range results {
			if path == "" || r.path == path {
				took = append(took, r.took...)
				bytes += r.bytes
			}
		}
		if len(took) == 0 {
			continue
		}

		slices.Sort(took)
		at := func(percent int) time.Duration { return took[(len(took)-1)*percent/100].Round(time.Millisecond) }
		fmt.Printf("%-10s %5d pages of %4d KiB; p50 %8s  p90 %8s  p99 %8s  longest %8s\n",
			cmp.Or(path, "all"), len(took), bytes/len(took)>>10, at(50), at(90), at(99), at(100))
	}
	return errors.Join(errs...)
}

// server is the measured process.
type server struct {
	command *exec.Cmd
	address string
	client  http.Client
}

func start(program, apiServer string) (*server, error) {
	directory, err := os.MkdirTemp("", "view-")
	if err != nil {
		return nil, err
	}

	config := filepath.Join(directory, "kubeconfig")
	text := fmt.Sprintf("clusters: [{name: c, cluster: {server: %q}}]\n"+
		"contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", apiServer)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}

	s := &server{command: exec.Command(program,
		"serve", "--listen=127.0.0.1:0", "--kubeconfig="+config, "--plugin=capacity-card")}
	s.client.Transport = &http.Transport{MaxIdleConnsPerHost: 1000}
	s.command.Stderr = os.Stderr
	output, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}

	if err := s.command.Start(); err != nil {
		return nil, err
	}

	line, err := bufio.NewReader(output).ReadString('\n')
	s.address = strings.TrimSpace(line)
	return s, err
}

// viewersOfAddress is the number of viewers of one address. The server bounds the pages of an address.
const viewersOfAddress = 40

// from returns the server as viewers with another address of this machine reach it.
func (s *server) from(i int) *server {
	own := *s
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+i))}}

	own.client.Transport = &http.Transport{MaxIdleConnsPerHost: 1000, DialContext: dialer.DialContext}
	return &own
}

func (s *server) stop() {
	_ = s.command.Process.Kill()
	_ = s.command.Wait() // that it was killed
}

// await waits until the cluster has been read.
func (s *server) await() error {
	readable := func(ctx context.Context) (bool, error) {
		_, err := s.get(ctx, "/readyz")
		return err == nil, nil
	}

	err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, 10*time.Minute, true, readable)
	if err != nil {
		return fmt.Errorf("the cluster has not been read within ten minutes: %w", err)
	}
	return nil
}

// open asks for a page.
func (s *server) open(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address+path, nil)
	if err != nil {
		return nil, err
	}

	response, err := s.client.Do(request)
	if err == nil && response.StatusCode != http.StatusOK {
		response.Body.Close()
		err = fmt.Errorf("%s: %s", path, response.Status)
	}
	return response, err
}

func (s *server) get(ctx context.Context, path string) (size int, err error) {
	response, err := s.open(ctx, path)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()

	n, err := io.Copy(io.Discard, response.Body)
	return int(n), err
}

// view follows the cluster on a page: it loads the page for each event, as a browser does.
func (s *server) view(ctx context.Context, path string) (r result) {
	r.path = path
	load := func() bool {
		begun := time.Now()
		size, err := s.get(ctx, path)
		if ctx.Err() != nil {
			return false
		}
		r.took = append(r.took, time.Since(begun))
		r.bytes += size
		r.err = err
		return err == nil
	}

	response, err := s.open(ctx, "/events")
	if err != nil {
		return result{err: err}
	}
	defer response.Body.Close()

	if !load() {
		return r
	}

	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "event: ") && !load() {
			break
		}
	}
	return r
}

// report prints the resources that the process uses.
func (s *server) report(when string) {
	response, err := s.open(context.Background(), "/health.json")
	if err != nil {
		fmt.Println(when, err)
		return
	}
	defer response.Body.Close()

	var health struct {
		Server struct {
			Reading   float64 `json:"readingMilliseconds"`
			Memory    uint64  `json:"memoryBytes"`
			Processor float64 `json:"processorSeconds"`
		} `json:"server"`
	}
	if err := json.NewDecoder(response.Body).Decode(&health); err != nil {
		fmt.Println(when, err)
		return
	}

	fmt.Printf("%s: %d MiB, %.1f s of processor time since the start; a model takes %.0f ms\n",
		when, health.Server.Memory>>20, health.Server.Processor, health.Server.Reading)
}
