package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// The programs that run as processes of their own: ours, and the one that it replaces, of the same versions.
const (
	ours      = "github.com/capacity-card/capacity-card/cmd/vc-scheduler"
	upstreams = "volcano.sh/volcano/cmd/scheduler"
)

// volcanoNamespace is the namespace in which Volcano is installed.
const volcanoNamespace = controlplane.VolcanoNamespace

// build builds a program into bin, only once while nothing changes, and returns its path.
func build(t *testing.T, of string, flags ...string) string {
	t.Helper()
	// The name of the file has the package and the flags, so that no build replaces a different build.
	name := strings.NewReplacer("/", "-", "=", "-", ".", "-").Replace(strings.Join(append([]string{of}, flags...), ""))
	path, err := filepath.Abs(filepath.Join("..", "bin", "e2e", name))
	require.NoError(t, err)
	command := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), of)...)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "building %s: %s", of, output)
	return path
}

// plane returns the cluster without a scheduler, with the nodes of these examples.
func plane(t *testing.T, nodes ...string) *cluster {
	t.Helper()
	c := boot(t)
	if c.stopScheduler != nil {
		c.stopScheduler()
		c.stopScheduler = nil
	}
	require.NoError(t, c.Kube.CoreV1().Nodes().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	c.apply(t, nodes...)
	_, err := c.Kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: volcanoNamespace}}, metav1.CreateOptions{})
	require.True(t, err == nil || apierrors.IsAlreadyExists(err), err)
	t.Cleanup(func() { c.clear(t) })
	return c
}

// process is a scheduler as a process of its own.
type process struct{ *controlplane.Process }

// run starts a scheduler with a configuration, without leader election unless the flags say otherwise. It is gone when
// the test ends.
func (c *cluster) run(t *testing.T, program, configuration string, flags ...string) *process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	require.NoError(t, os.WriteFile(file, []byte(configuration), 0o600))
	return c.runWith(t, program, append([]string{
		"--scheduler-conf=" + file, "--schedule-period=" + schedulePeriod.String(), "--leader-elect=false", "--enable-metrics=true",
	}, flags...)...)
}

// runWith starts a scheduler with these flags alone.
func (c *cluster) runWith(t *testing.T, program string, flags ...string) *process {
	t.Helper()
	started, err := c.StartProcess(program, flags...)
	require.NoError(t, err)
	p := &process{started}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of the scheduler ends with\n%s", tail(p.log(t), 40))
		}
		require.NoError(t, p.Kill())
	})
	return p
}

func (p *process) log(t *testing.T) string {
	t.Helper()
	text, err := p.Log()
	require.NoError(t, err)
	return text
}

// tail is the end of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// logs waits until the process's log has these words.
func (p *process) logs(t *testing.T, words string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(p.log(t), words) }, patience, schedulePeriod, "the log should say %q", words)
}

// ends waits until the process has ended by itself, and returns its exit status.
func (p *process) ends(t *testing.T) int {
	t.Helper()
	select {
	case <-p.Exited():
		return p.Status()
	case <-time.After(patience):
		t.Fatalf("after %s the scheduler is still there", patience)
		return 0
	}
}

// measures waits until the process's metrics have these lines.
func (p *process) measures(t *testing.T, lines ...string) {
	t.Helper()
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		metrics := p.metrics(collect)
		for _, line := range lines {
			assert.Contains(collect, metrics, line+"\n")
		}
	}, patience, schedulePeriod)
}

// metrics returns the metrics of the process.
func (p *process) metrics(t assert.TestingT) string {
	response, err := http.Get(p.Metrics)
	if !assert.NoError(t, err) {
		return ""
	}
	defer response.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(response.Body)
	assert.NoError(t, err)
	return body.String()
}

// cycles waits until the process has gone through so many scheduling cycles more.
func (p *process) cycles(t *testing.T, n int) {
	t.Helper()
	so := func() int {
		count := regexp.MustCompile(`(?m)^volcano_e2e_scheduling_latency_milliseconds_count (\d+)$`).FindStringSubmatch(p.metrics(t))
		require.NotNil(t, count)
		number, err := strconv.Atoi(count[1])
		require.NoError(t, err)
		return number
	}
	before := so()
	require.Eventually(t, func() bool { return so() >= before+n }, patience, schedulePeriod)
}

// TestRefusedConfigurations starts the scheduler as a Deployment would with configurations that it must not have.
func TestRefusedConfigurations(t *testing.T) {
	c := plane(t)
	program, good := build(t, ours), exampleConfiguration(t)
	for name, each := range map[string]struct{ configuration, says string }{
		"Typo":      {strings.Replace(good, "capacity-card", "capacity-crad", 1), "no such plugin is registered: capacity-crad"},
		"TwoQuotas": {strings.Replace(good, "- name: nodeorder", "- name: nodeorder\n  - name: proportion", 1), "only one quota plugin can be in force: capacity-card, proportion"},
		"Broken":    {good + "\n]", "yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.run(t, program, each.configuration)
			require.Equal(t, 1, p.ends(t))
			lines := strings.Split(strings.TrimSpace(p.log(t)), "\n")
			lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, "maxprocs: ") }) // as Volcano's begins
			require.Len(t, lines, 1)
			require.Contains(t, lines[0], each.says)
		})
	}
	t.Run("Missing", func(t *testing.T) {
		p := c.runWith(t, program, "--scheduler-conf="+filepath.Join(t.TempDir(), "none.conf"))
		require.Equal(t, 1, p.ends(t))
		require.Contains(t, p.log(t), "no such file")
	})
	t.Run("Warned", func(t *testing.T) {
		p := c.run(t, program, strings.Replace(good, "- name: nodeorder", "- name: nodeorder\n  - name: cdp", 1))
		p.logs(t, "cdp may select victims that capacity-card does not")
	})
	t.Run("AllowUnsafe", func(t *testing.T) {
		p := c.run(t, program, strings.Replace(good, "capacity-card", "capacity-crad", 1), "--allow-unsafe-conf")
		p.logs(t, "Failed to get plugin capacity-crad") // as Volcano has it, in every cycle
	})
}

// TestEditedConfiguration edits the configuration of a scheduler that runs. A bad configuration changes nothing and is
// reported. A good configuration counts from the next cycle on.
func TestEditedConfiguration(t *testing.T) {
	c := plane(t, "nodes.yaml")
	good := exampleConfiguration(t)
	file := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	edit := func(configuration string) {
		require.NoError(t, os.WriteFile(file+".next", []byte(configuration), 0o600))
		require.NoError(t, os.Rename(file+".next", file))
	}
	edit(good)
	p := c.runWith(t, build(t, ours), "--scheduler-conf="+file, "--schedule-period="+schedulePeriod.String(), "--leader-elect=false")
	c.apply(t, "queue.yaml")
	c.submit(t, "edited-users", sixCards, h200, 4)
	c.runs(t, "edited-users", map[string]int{h200: 3}, 1)

	edit(strings.Replace(good, "capacity-card", "capacity-crad", 1))
	p.logs(t, "is refused, the last good one stays in force: "+file+": no such plugin is registered: capacity-crad")
	c.cycles(t, 6)
	c.runs(t, "edited-users", map[string]int{h200: 3}, 1)

	edit(strings.Replace(good, "reclaimGangs: whole", "reclaimGangs: whole\n      untypedCards: reject", 1))
	p.logs(t, fmt.Sprintf("The scheduler's configuration %s was changed and is in force", file))
	c.submit(t, "edited-untyped", sixCards, "", 1)
	c.says(t, "edited-untyped", "Pod requests <nvidia.com/gpu> but names no card: set the annotation volcano.sh/card.name")
}

// scheduleInstalled installs Volcano and the plugins, and starts the scheduler of this process with the configuration
// of the installation.
func (c *cluster) scheduleInstalled(t *testing.T) {
	t.Helper()
	install(t, c)
	c.send(t, render(t, "../deploy/cards"), "kubectl")
	var err error
	c.stopScheduler, err = c.StartInstalledScheduler(t.Context())
	require.NoError(t, err)
}

// TestInstalledConfiguration edits the ConfigMap of an installation. The scheduler of this process follows it, as that
// of the demo does.
func TestInstalledConfiguration(t *testing.T) {
	c := plane(t, "nodes.yaml")
	c.scheduleInstalled(t)
	c.apply(t, "queue.yaml")
	c.submit(t, "untyped", sixCards, "", 8)
	c.runs(t, "untyped", map[string]int{h200: 3, h800: 2, rtx4090: 2}, 1)

	configMaps := c.Kube.CoreV1().ConfigMaps(volcanoNamespace)
	configuration, err := configMaps.Get(t.Context(), "volcano-scheduler-configmap", metav1.GetOptions{})
	require.NoError(t, err)
	text := configuration.Data["volcano-scheduler.conf"]
	configuration.Data["volcano-scheduler.conf"] = strings.Replace(text, "arguments:", "arguments:\n      untypedCards: reject", 1)
	_, err = configMaps.Update(t.Context(), configuration, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.says(t, "untyped", "Pod requests <nvidia.com/gpu> but names no card: set the annotation volcano.sh/card.name")
}
