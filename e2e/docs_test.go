package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/plugin/guard"
)

// notHere are commands that need more than a control plane, by how they begin.
var notHere = []string{
	"docker build",                      // a container engine
	"kubectl -n volcano-system logs",    // a kubelet
	"CGO_ENABLED=0 go build",            // nothing, but TestSwap builds the scheduler
	"helm ",                             // the Internet; TestHelm and TestChartInstalled run helm
	"cosign ",                           // a release
	"go install ",                       // a release
	"bin/cardctl serve",                 // Ctrl-C; TestView... run it
	"go tool pprof -http",               // somebody who looks
	"git -C ../volcano",                 // a checkout of Volcano
	"git clone ",                        // the same
	"kubectl -n volcano-system rollout", // a kubelet
	"GOFLAGS=-modfile=$PWD/build/",      // the same
	"kubectl -n volcano-system get le",  // a leader
	"kubectl apply --server-side -k deploy/observability/prometheus", // Prometheus' operator
	"kubectl apply --server-side -k deploy/view-metrics",             // the same
}

// otherwiseRun are pages that other tests run: TestInstall, and TestTranslation and a test of internal/house, which
// compare the translations with their originals.
var otherwiseRun = []string{installPage, "../docs/zh/install.md", "../docs/zh/quickstart.md"}

// kubectl is the kubectl of the Kubernetes version in go.mod.
const kubectl = "k8s.io/kubernetes/cmd/kubectl"

// TestDocs follows the documentation as users do. It runs the shell commands of each page, in order, on a cluster with
// the nodes of the examples and with Volcano installed. The API server validates the YAML. The pages for the playground
// have a test of their own.
//
// For "make" it only checks that the target exists.
func TestDocs(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	translated, err := filepath.Glob("../docs/*/*.md")
	require.NoError(t, err)
	pages = append(append(pages, translated...), "../README.md")
	require.Greater(t, len(pages), 10)
	tools := t.TempDir()
	for name, program := range map[string]string{"kubectl": kubectl, "cardctl": cardctl} {
		require.NoError(t, os.Symlink(build(t, program), filepath.Join(tools, name)))
	}

	for _, page := range pages {
		if slices.Contains(playedPages, page) || slices.Contains(otherwiseRun, page) {
			continue
		}
		t.Run(strings.TrimPrefix(page, "../"), func(t *testing.T) {
			blocks := fenced.FindAllStringSubmatch(string(read(t, page)), -1)
			if len(blocks) == 0 {
				return
			}
			c := plane(t, "nodes.yaml")
			install(t, c)
			if page != "../docs/deploy.md" { // which begins with Volcano as it was
				c.send(t, render(t, "../deploy/cards"), "kubectl")
			}
			c.schedule(t, exampleConfiguration(t))
			c.expectQuota(example[*scheduling.Queue](t, "queue.yaml"))
			shell := c.shell(t, tools)
			for _, block := range blocks {
				switch language, body := block[1], block[2]; language {
				case "sh":
					shell(t, body, "")
				case "yaml":
					c.checkYAML(t, shell, body)
				case "", "console": // output
				default:
					t.Errorf("no test checks blocks of %s", language)
				}
			}
		})
	}
}

// fenced is a block of a page, with its language.
var fenced = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// checkYAML checks a manifest, the configuration of a scheduler, or a part of either.
func (c *cluster) checkYAML(t *testing.T, shell func(*testing.T, string, string), text string) {
	t.Helper()
	var document any
	require.NoError(t, yaml.Unmarshal([]byte(text), &document), text)
	content, _ := document.(map[string]any) // else a part of a list
	switch {
	case content["apiVersion"] != nil:
		shell(t, "kubectl apply --dry-run=server --validate=strict -f -", text)
	case content["actions"] != nil:
		require.NoError(t, guard.Check(text))
	}
}

// kubeconfigOfNamespace returns a kubeconfig with the namespace that the tests work in.
func (c *cluster) kubeconfigOfNamespace(t *testing.T) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.Kubeconfig())
	require.NoError(t, err)
	config.Contexts[config.CurrentContext].Namespace = c.namespace
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, kubeconfig))
	return kubeconfig
}

// shell returns a shell in a directory that looks like a clone of the repository, with the tools on its path, and a
// namespace of this cluster to work in.
func (c *cluster) shell(t *testing.T, tools string) func(t *testing.T, script, input string) {
	t.Helper()
	clone, kubeconfig := newClone(t), c.kubeconfigOfNamespace(t)
	return func(t *testing.T, script, input string) {
		t.Helper()
		lines := slices.DeleteFunc(strings.Split(script, "\n"), func(line string) bool {
			return slices.ContainsFunc(notHere, func(command string) bool { return strings.HasPrefix(line, command) })
		})
		command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c",
			`make() { command make -n "$@" >/dev/null; }`+"\n"+strings.Join(lines, "\n"))
		command.Dir, command.Stdin = clone, strings.NewReader(input)
		command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+tools+":"+os.Getenv("PATH"))
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s\n%s", script, output)
		t.Logf("%s\n%s", script, output)
	}
}
