package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

const (
	// mostReaders bounds the open connections that never read: this process has few file descriptors.
	mostReaders = 300
	// mostMemory bounds the resident memory of the pages, in bytes. A client must not exhaust a node.
	mostMemory = 1 << 30
)

// view is cardctl serve. Its pages follow the cluster, and clients attack them.
type view struct {
	address string // host and port
	process *controlplane.Process
	readers []net.Conn
	attacks map[string]int // by kind
}

// listens matches the line in which the pages state their address.
var listens = regexp.MustCompile(`(?m)^http://(\S+)$`)

// attack is one request that must have no effect.
type attack struct {
	name string
	run  func(*view, context.Context) error
}

var attacks = []attack{
	{"never-reads", (*view).neverRead},
	{"host", func(v *view, ctx context.Context) error {
		return v.refused(ctx, http.MethodGet, "/queues", "", http.StatusMisdirectedRequest,
			func(r *http.Request) { r.Host = "pages.example.com" })
	}},
	{"origin", func(v *view, ctx context.Context) error {
		change := url.Values{"set": {"queue/q0:cards." + h200 + "=0"}}.Encode()
		return v.refused(ctx, http.MethodPost, "/whatif", change, http.StatusForbidden,
			func(r *http.Request) { r.Header.Set("Origin", "http://pages.example.com") })
	}},
	{"path", func(v *view, ctx context.Context) error {
		return v.refused(ctx, http.MethodGet, "/assets/..%2f..%2f..%2fetc%2fpasswd", "", http.StatusNotFound, nil)
	}},
	{"name", func(v *view, ctx context.Context) error {
		queue := url.PathEscape(`"><script>alert(1)</script>`)
		return v.refused(ctx, http.MethodGet, "/queue/"+queue, "", http.StatusNotFound, nil)
	}},
	{"no-http", (*view).noHTTP},
}

// startView starts the pages, and waits until they have read the cluster.
func startView(ctx context.Context, plane *controlplane.ControlPlane, program, configuration string) (*view, error) {
	process, err := plane.StartProgram("view", program,
		"serve", "--listen=127.0.0.1:0", "--kubeconfig="+plane.Kubeconfig(), "--scheduler-conf="+configuration)
	if err != nil {
		return nil, err
	}

	v := &view{process: process, attacks: map[string]int{}}
	for end := time.Now().Add(patience); ; pause(ctx, 100*time.Millisecond) {
		ready, err := v.ready(ctx)
		switch {
		case err != nil:
			return nil, errors.Join(err, v.stop())
		case ready:
			return v, nil
		case time.Now().After(end):
			return nil, errors.Join(fmt.Errorf("cardctl serve is not ready after %s", patience), v.stop())
		}
	}
}

// ready reads the address of the pages, and reports whether they are ready.
func (v *view) ready(ctx context.Context) (bool, error) {
	log, err := v.process.Log()
	if err != nil {
		return false, err
	}

	found := listens.FindStringSubmatch(log)
	if found == nil {
		return false, nil
	}

	v.address = found[1]
	status, _, err := v.send(ctx, http.MethodGet, "/readyz", "", nil)
	return err == nil && status == http.StatusOK, nil
}

// stop ends the pages.
func (v *view) stop() error {
	for _, conn := range v.readers {
		_ = conn.Close() // the other side may have closed it
	}

	select {
	case <-v.process.Exited():
		text, err := v.process.Log()
		return errors.Join(err, fmt.Errorf("cardctl serve has ended: %s", text[max(0, len(text)-2000):]))
	default:
		return v.process.Kill()
	}
}

// send sends a request. change may alter it before.
func (v *view) send(
	ctx context.Context, method, path, body string, change func(*http.Request),
) (status int, text string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+v.address+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if change != nil {
		change(request)
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()

	read, err := io.ReadAll(response.Body)
	return response.StatusCode, string(read), err
}

// refused sends a request that must get a status, and none of the secret texts.
func (v *view) refused(ctx context.Context, method, path, body string, want int, change func(*http.Request)) error {
	status, text, err := v.send(ctx, method, path, body, change)
	switch {
	case err != nil:
		return nil // attacked notices pages that do not answer
	case status != want:
		return fmt.Errorf("%s %s is answered with %d, not %d", method, path, status, want)
	case strings.Contains(text, "<script>alert") || strings.Contains(text, "root:"):
		return fmt.Errorf("%s %s is answered with %q", method, path, text)
	}

	return nil
}

// neverRead asks for the stream of changes, and never reads it. It closes the oldest such connection beyond a limit.
func (v *view) neverRead(ctx context.Context) error {
	if v.ask(ctx, net.IPv4(127, 0, 0, 1)) != nil {
		return nil // attacked notices pages that do not answer
	}

	if len(v.readers) > mostReaders {
		_ = v.readers[0].Close()
		v.readers = v.readers[1:]
	}

	return nil
}

// ask asks for the stream of changes from an address.
func (v *view) ask(ctx context.Context, from net.IP) error {
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}).DialContext(ctx, "tcp", v.address)
	if err != nil {
		return err
	}

	_, _ = fmt.Fprintf(conn, "GET /events?after=0 HTTP/1.1\r\nHost: %s\r\n\r\n", v.address) // it may be closed already
	v.readers = append(v.readers, conn)
	return nil
}

// noHTTP sends bytes that are not an HTTP request.
func (v *view) noHTTP(context.Context) error {
	conn, err := net.Dial("tcp", v.address)
	if err != nil {
		return nil
	}

	defer conn.Close()

	_, _ = io.WriteString(conn, strings.Repeat("\x16\x03\x01\x00A: \n", 4096))

	return nil
}

// attacked attacks the pages until ctx ends. It fails if an attack succeeds, or if other clients get no page for long.
func (v *view) attacked(ctx context.Context, draw *rand.Rand) error {
	answered := time.Now()
	for ctx.Err() == nil {
		for range 20 {
			a := attacks[max(0, draw.IntN(2*len(attacks))-len(attacks))] // half of them never read
			v.attacks[a.name]++
			err := a.run(v, ctx)
			if err != nil {
				return fmt.Errorf("attack %s: %w", a.name, err)
			}
		}

		status, _, err := v.send(ctx, http.MethodGet, "/queues", "", nil)
		if err == nil && status == http.StatusOK {
			answered = time.Now()
		}
		waited := time.Since(answered)
		if waited > patience {
			return fmt.Errorf("the pages have had no answer for %s: %d, %w", waited, status, err)
		}

		pause(ctx, 100*time.Millisecond)
	}

	return nil
}

var peak = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// bounded fails if the pages have used too much memory.
func (v *view) bounded() error {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.process.PID()))
	if err != nil {
		return err
	}

	found := peak.FindSubmatch(status)
	if found == nil {
		return errors.New("the memory of the pages is not known")
	}

	kilobytes, err := strconv.Atoi(string(found[1]))
	if err == nil && kilobytes > mostMemory>>10 {
		err = fmt.Errorf("the pages have taken %d MiB", kilobytes>>10)
	}

	return err
}

// agrees waits until the pages show the cards of the pods in each queue. A pod keeps the card that its node had at
// binding. Therefore only the sum of a queue is known after a node had another label.
func (r *round) agrees(ctx context.Context, v *view) error {
	var shown, have map[string]int64
	for end := time.Now().Add(patience); time.Now().Before(end); pause(ctx, 200*time.Millisecond) {
		var err error
		have, err = r.cards(ctx)
		if err != nil {
			return err
		}

		shown, err = v.cards(ctx)
		if err == nil && r.relabeled {
			shown = sums(shown)
			have = sums(have)
		}
		if err == nil && maps.Equal(shown, have) {
			return nil
		}
	}

	return fmt.Errorf("the pages show %v, and the pods have %v", shown, have)
}

// sums adds up the cards of each queue.
func sums(cards map[string]int64) map[string]int64 {
	queues := map[string]int64{}
	for name, n := range cards {
		queue, _, _ := strings.Cut(name, " ")
		queues[queue] += n
	}

	return queues
}

// cards returns the cards of leaf queues in the pages, by queue and card.
func (v *view) cards(ctx context.Context) (map[string]int64, error) {
	_, text, err := v.send(ctx, http.MethodGet, "/queues.json", "", nil)
	if err != nil {
		return nil, err
	}

	var list struct {
		Items []struct {
			Queue     string
			Resources []struct {
				Resource  string
				Card      bool
				Allocated int64
			}
		}
	}
	err = json.Unmarshal([]byte(text), &list)
	if err != nil {
		return nil, err
	}

	cards := map[string]int64{}
	for _, q := range list.Items {
		for _, resource := range q.Resources {
			isGroup := strings.HasPrefix(resource.Resource, "@") // the sum of its cards
			isCard := resource.Card && !isGroup
			if strings.HasPrefix(q.Queue, "q") && isCard && resource.Allocated != 0 {
				cards[q.Queue+" "+resource.Resource] = resource.Allocated
			}
		}
	}

	return cards, nil
}

// cards returns the cards of pods on nodes, by queue and card.
func (r *round) cards(ctx context.Context) (map[string]int64, error) {
	nodes, err := r.plane.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}

	pods, err := r.plane.Kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}

	model := map[string]string{}
	for i := range nodes.Items {
		model[nodes.Items[i].Name] = nodes.Items[i].Labels[product]
	}

	cards := map[string]int64{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if pod.Spec.NodeName == "" || ended {
			continue
		}

		groups := r.plane.Volcano.SchedulingV1beta1().PodGroups(pod.Namespace)
		group, err := groups.Get(ctx, pod.Annotations[scheduling.KubeGroupNameAnnotationKey], metav1.GetOptions{})
		if err != nil {
			return nil, err
		}

		amount := pod.Spec.Containers[0].Resources.Requests[gpu]
		cards[group.Spec.Queue+" "+model[pod.Spec.NodeName]] += amount.Value()
	}

	return cards, nil
}
