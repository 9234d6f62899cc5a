package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/capacity-card/capacity-card/plugin"
)

// served is an API server with objects, which are YAML. It forbids the kind denied.
type served struct{ objects, denied string }

// kinds are the lists of an API server by the last part of their paths.
var kinds = map[string]struct{ kind, version string }{
	"nodes":       {"Node", "v1"},
	"pods":        {"Pod", "v1"},
	"queues":      {"Queue", "scheduling.volcano.sh/v1beta1"},
	"podgroups":   {"PodGroup", "scheduling.volcano.sh/v1beta1"},
	"jobs":        {"Job", "batch.volcano.sh/v1alpha1"},
	"deployments": {"Deployment", "apps/v1"},
}

func (c served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	list, known := kinds[resource]
	w.Header().Set("Content-Type", "application/json")
	switch {
	case resource == c.denied:
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"cannot list resource"}`)
		return
	case !known:
		w.WriteHeader(http.StatusNotFound)
		return
	}

	items := []json.RawMessage{}
	for _, text := range strings.Split(c.objects, "---\n") {
		object, err := yaml.YAMLToJSON([]byte(text))
		if err == nil && strings.Contains(string(object), fmt.Sprintf(`"kind":%q`, list.kind)) {
			items = append(items, object)
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": list.kind + "List", "apiVersion": list.version, "items": items})
}

// fullText is a cluster with a node, a queue and a running job.
const fullText = `apiVersion: v1
kind: Node
metadata: {name: worker, uid: node, labels: {nvidia.com/gpu.product: A}}
status:
  capacity: {cpu: "64", memory: 64Gi, pods: "100", nvidia.com/gpu: "8"}
  allocatable: {cpu: "64", memory: 64Gi, pods: "100", nvidia.com/gpu: "8"}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q, uid: q, annotations: {volcano.sh/card.quota: '{"A": 6}'}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: runs, namespace: default, uid: runs}
spec: {queue: q, minMember: 1}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata:
  name: runs-0
  namespace: default
  uid: runs-0
  annotations: {scheduling.k8s.io/group-name: runs, volcano.sh/card.name: A}
spec: {schedulerName: volcano, nodeName: worker, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: "2"}}}]}
status: {phase: Running}
`

// waitingText is a cluster with a node, a queue and a job that asks for more than the quota.
const waitingText = `apiVersion: v1
kind: Node
metadata: {name: worker, uid: other-node, labels: {nvidia.com/gpu.product: A}}
status:
  capacity: {cpu: "64", memory: 64Gi, pods: "100", nvidia.com/gpu: "4"}
  allocatable: {cpu: "64", memory: 64Gi, pods: "100", nvidia.com/gpu: "4"}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q, uid: other-q, annotations: {volcano.sh/card.quota: '{"A": 1}'}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: train, namespace: default, uid: train}
spec: {queue: q, minMember: 1}
status: {phase: Pending}
---
apiVersion: v1
kind: Pod
metadata:
  name: train-0
  namespace: default
  uid: train-0
  annotations: {scheduling.k8s.io/group-name: train, volcano.sh/card.name: A}
spec: {schedulerName: volcano, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: "2"}}}]}
status: {phase: Pending}
`

// useClusters makes a kubeconfig with a context for each of some API servers, and with the context away of a server
// that is gone.
func useClusters(t *testing.T, servers map[string]http.Handler) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	add := func(name, address string) {
		config.Clusters[name] = &clientcmdapi.Cluster{Server: address}
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{}
		config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}

	for name, handler := range servers {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		add(name, server.URL)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	add("away", gone.URL)
	gone.Close()

	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, path))
	t.Setenv("KUBECONFIG", path)
}

// single makes one space of the spaces between two cells of a table.
func single(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestContexts looks into several clusters at once.
func TestContexts(t *testing.T) {
	useClusters(t, map[string]http.Handler{
		"full":    served{objects: fullText},
		"waiting": served{objects: waitingText},
		"closed":  served{objects: fullText, denied: "nodes"},
	})
	const isAway = "error: cluster away: the cluster http://127.0.0.1:"
	for name, test := range map[string]struct {
		arguments string
		out       []string // texts in this order
		not       []string
		stderr    []string
		code      int
	}{
		"cards": {arguments: "cards --contexts full,waiting",
			out: []string{"CLUSTER CARD NODES", "\nfull A 1 8 2 6 ", "\nwaiting A 1 4 0 4 ", "\n(total) A 2 12 2 10 ",
				"CLUSTER NODE CARD", "\nfull worker A 8 2 6\n", "\nwaiting worker A 4 0 4\n", "CLUSTER QUEUE CARD", "\nfull q A 2 ", "\nwaiting q A 0 "},
			stderr: []string{"note: cluster full: assumed for --plugin", "note: cluster waiting: assumed for --plugin"}},
		"the order of the flag": {arguments: "cards --contexts waiting,full", out: []string{"\nwaiting A ", "\nfull A ", "\n(total) A "}},
		"one context":           {arguments: "cards --contexts full", out: []string{"CLUSTER CARD", "\nfull A "}, not: []string{"(total)"}},
		"without headers":       {arguments: "cards --contexts full --no-headers", out: []string{"full A 1 "}, not: []string{"CLUSTER"}},
		"one that is away": {arguments: "cards --contexts full,away,waiting", out: []string{"\nfull A ", "\nwaiting A ", "\n(total) A 2 12 "},
			not: []string{"away"}, stderr: []string{isAway}, code: 1},
		"the only one that is there": {arguments: "cards --contexts away,full", out: []string{"\nfull A "}, not: []string{"(total)"}, stderr: []string{isAway}, code: 1},
		"none that is there":         {arguments: "cards --contexts away", not: []string{"CLUSTER"}, stderr: []string{isAway}, code: 2},
		"one without rights": {arguments: "cards --contexts closed,full", out: []string{"\nfull A "}, not: []string{"\nclosed"},
			stderr: []string{"error: cluster closed: no permission to list nodes in all namespaces of"}, code: 1},
		"top":            {arguments: "top --contexts full,waiting", out: []string{"CLUSTER QUEUE SHARE", "full q ", "waiting q "}},
		"top of a queue": {arguments: "top q --once --contexts full,waiting", out: []string{"full q ", "waiting q "}},
		"a wide table":   {arguments: "top --contexts full,waiting -o wide", out: []string{"CLUSTER QUEUE SHARE"}},
		"top of no queue": {arguments: "top p --contexts full,waiting", not: []string{"CLUSTER"},
			stderr: []string{`error: cluster full: no queue "p" in the input`, `error: cluster waiting: no queue "p" in the input`}, code: 2},
		"who has cards": {arguments: "top --by namespace --contexts full,waiting", out: []string{"CLUSTER NAMESPACE CARD", "full default A 2 ", "waiting default A 0 "}},
		"explain": {arguments: "explain --contexts full,waiting", out: []string{"CLUSTER NAMESPACE JOB QUEUE", "\nwaiting default ", "Cluster full:\nNo job waits.\n"},
			not: []string{"\nfull default"}},
		"a job of one cluster": {arguments: "explain train --contexts full,waiting", out: []string{"Cluster waiting:\nJob: default/"}, not: []string{"Cluster full"}},
		"a job of no cluster": {arguments: "explain trian --contexts full,waiting",
			stderr: []string{`error: cluster full: no job "trian" in the input`, `error: cluster waiting: no job "trian" in the input`}, code: 2},
		"a job, and one that is away": {arguments: "explain train --contexts away,waiting,full", out: []string{"Cluster waiting:\nJob: "}, stderr: []string{isAway}, code: 1},
		"a job that may be away":      {arguments: "explain train --contexts away,full", stderr: []string{isAway, `error: cluster full: no job "train"`}, code: 2},
		"a namespace":                 {arguments: "explain -n default --contexts full,waiting", out: []string{"\nwaiting default "}},
		"the settings":                {arguments: "explain setting --contexts away", out: []string{"LEVEL NAME"}, not: []string{"CLUSTER"}},
		"usage":                       {arguments: "usage --contexts full,waiting", out: []string{"Cluster full:\nQueues are not ordered", "Cluster waiting:\nQueues are not ordered"}},
		"audit":                       {arguments: "audit --contexts full,waiting", out: []string{"Cluster full:\n", "There is no record of use over time", "Cluster waiting:\n"}},
		"names":                       {arguments: "top -o name --contexts full,waiting", out: []string{"queue.scheduling.volcano.sh/q"}},
		"columns":                     {arguments: "top -o custom-columns=C:.cluster,Q:.queue --contexts full,waiting", out: []string{"C Q", "\nfull q\n", "\nwaiting q\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := run("", append(strings.Fields(test.arguments), "--plugin", plugin.Name)...)
			assert.Equal(t, test.code, code, stderr)
			rest := single(out)
			for _, text := range test.out {
				_, after, has := strings.Cut(rest, text)
				require.True(t, has, "%q is not in\n%s", text, rest)
				rest = "\n" + after
			}
			if test.out == nil {
				assert.Empty(t, out)
			}
			for _, text := range test.not {
				assert.NotContains(t, single(out), text)
			}
			for _, text := range test.stderr {
				assert.Contains(t, stderr, text)
			}
			if test.code == 0 {
				assert.NotContains(t, stderr, "error: ")
			}
		})
	}
}

// TestContextsAsJSON has the items of all clusters in one list, and says which cluster is away.
func TestContextsAsJSON(t *testing.T) {
	useClusters(t, map[string]http.Handler{"full": served{objects: fullText}, "waiting": served{objects: waitingText}})
	type named struct{ Cluster, Card, Queue, Name, Error string }
	type document struct {
		Kind            string
		Items, Clusters []named
		Cards           []struct {
			named
			Free float64
		}
		Nodes, Queues []named
	}
	read := func(code int, arguments ...string) (d document) {
		t.Helper()
		got, out, stderr := run("", append(arguments, "-o", "json", "--contexts", "waiting,away,full", "--plugin", plugin.Name)...)
		require.Equal(t, code, got, stderr)
		require.NoError(t, json.Unmarshal([]byte(out), &d), out)
		return d
	}
	clustersOf := func(all []named) (names []string) {
		for _, each := range all {
			names = append(names, each.Cluster)
		}
		return names
	}

	cards := read(1, "cards")
	assert.Equal(t, "Stock", cards.Kind)
	require.Len(t, cards.Cards, 2, "no sums")
	assert.Equal(t, "waiting A 4, full A 6", fmt.Sprintf("%s %s %v, %s %s %v", cards.Cards[0].Cluster, cards.Cards[0].Card, cards.Cards[0].Free,
		cards.Cards[1].Cluster, cards.Cards[1].Card, cards.Cards[1].Free))
	assert.Equal(t, []string{"waiting", "full"}, clustersOf(cards.Nodes))
	assert.Equal(t, []string{"waiting", "away", "full"}, clustersOf(cards.Clusters))
	assert.Contains(t, cards.Clusters[1].Error, "cannot be reached")
	assert.Empty(t, cards.Clusters[0].Error)

	top := read(1, "top")
	assert.Equal(t, "QueueList", top.Kind)
	assert.Contains(t, clustersOf(top.Items), "full")
	assert.Equal(t, "waiting", top.Items[0].Cluster)

	explained := read(1, "explain")
	require.Equal(t, []string{"waiting"}, clustersOf(explained.Items))
	assert.Equal(t, "train", explained.Items[0].Name)
	job := read(1, "explain", "train")
	assert.Equal(t, []string{"waiting"}, clustersOf(job.Items))
	assert.Contains(t, job.Clusters[2].Error, `no job "train"`)

	for _, command := range []string{"usage", "audit"} {
		assert.Equal(t, []string{"waiting", "away", "full"}, clustersOf(read(1, command).Clusters), command)
	}

	_, out, _ := run("", "cards", "-o", "json", "--context", "full", "--plugin", plugin.Name)
	assert.NotContains(t, out, `"cluster`, "one cluster has no name")
	code, out, stderr := run("", "cards", "-o", "yaml", "--contexts", "full", "--plugin", plugin.Name)
	assert.Zero(t, code, stderr)
	assert.Contains(t, out, "cluster: full\n")
}

// TestOneNamespaceOfClusters asks two clusters. One of them lists only the objects of a namespace.
func TestOneNamespaceOfClusters(t *testing.T) {
	useClusters(t, map[string]http.Handler{"team": team{}, "waiting": served{objects: waitingText}})
	code, out, stderr := run("", "explain", "-n", "mine", "--contexts", "team,waiting", "--plugin", plugin.Name)
	assert.Zero(t, code, stderr)
	assert.Contains(t, single(out), "\nteam mine Job/second own Waiting Pending")
	assert.Contains(t, stderr, "warning: cluster team: no permission to list")

	code, out, _ = run("", "explain", "-n", "mine", "--contexts", "team,waiting", "--plugin", plugin.Name, "-o", "json")
	assert.Zero(t, code)
	var document struct {
		Clusters []struct {
			Cluster string
			Unknown []string
		}
		Unknown []string
	}
	require.NoError(t, json.Unmarshal([]byte(out), &document), out)
	require.Len(t, document.Clusters, 2)
	assert.NotEmpty(t, document.Clusters[0].Unknown)
	assert.Empty(t, document.Unknown)
}

// TestSlowCluster reads a cluster while another one does not answer, and does not wait for that one without end.
func TestSlowCluster(t *testing.T) {
	full := served{objects: fullText}
	read := make(chan struct{})
	var once sync.Once
	useClusters(t, map[string]http.Handler{
		"full": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			once.Do(func() { close(read) })
			full.ServeHTTP(w, r)
		}),
		// It fails when the other one is read.
		"slow": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-read:
			case <-r.Context().Done():
			}
			w.WriteHeader(http.StatusInternalServerError)
		}),
		"silent": http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
	})
	code, out, stderr := run("", "cards", "--contexts", "slow,full", "--plugin", plugin.Name)
	assert.Equal(t, 1, code)
	assert.Contains(t, single(out), "\nfull A ")
	assert.Contains(t, stderr, "error: cluster slow: ")

	code, out, stderr = run("", "cards", "--contexts", "silent", "--request-timeout", "10ms", "--plugin", plugin.Name)
	assert.Equal(t, 2, code)
	assert.Empty(t, out)
	assert.Contains(t, stderr, "error: cluster silent: the cluster http://")
}

// TestRequestTime bounds the requests to several clusters, unless a flag does.
func TestRequestTime(t *testing.T) {
	useClusters(t, nil)
	for given, want := range map[string]string{"0": "30s", "5s": "5s"} {
		s := newSource(genericiooptions.NewTestIOStreamsDiscard())
		s.contexts = []string{"away"}
		*s.cluster.Timeout = given
		all, err := inClusters(t.Context(), s, func(s *source, _ context.Context) (string, error) {
			config, err := s.restConfig()
			if err != nil {
				return "", err
			}
			return config.Timeout.String(), nil
		})
		require.NoError(t, err)
		assert.Equal(t, want, all[0].value)
		assert.Equal(t, given, *s.cluster.Timeout)
	}
}

// TestBadContexts expects exit code 2 and nothing on stdout.
func TestBadContexts(t *testing.T) {
	useClusters(t, map[string]http.Handler{"full": served{objects: fullText}})
	for arguments, want := range map[string]string{
		"validate --contexts full":               "--contexts has no effect: cardctl validate is about one cluster",
		"simulate --contexts full --remove q/q":  "--contexts has no effect: cardctl simulate is about one cluster",
		"usage reset q --contexts full":          "--contexts has no effect: cardctl usage reset is about one cluster",
		"cards --contexts full -f .":             "--contexts names clusters, and -f names files: one of them",
		"top --contexts full --watch":            "--watch is for one cluster: name it with --context",
		"explain --contexts full -w":             "--watch is for one cluster: name it with --context",
		"cards --contexts full --context full":   "--context is about one cluster, and --contexts names several: one of them",
		"cards --contexts full --server http://": "--server is about one cluster",
		"cards --contexts full --token secret":   "--token is about one cluster",
		"cards --contexts full,ful":              `--contexts: no context "ful" in the kubeconfig; did you mean "full"?`,
		"cards --contexts full,away,full":        "--contexts: full is named twice",
		"cards --contexts full, ":                `--contexts: no context "" in the kubeconfig`,
		"cards --contexts=":                      "--contexts: no context is named",
		"cards --contexts full --kubeconfig no":  "--contexts: ",
		"serve --contexts full --authenticate":   "[authenticate contexts]",
		"serve --contexts full --metrics http:/": "[metrics contexts]",
		"serve --contexts full -f .":             "--contexts names clusters, and -f names files",
	} {
		code, out, stderr := run("", strings.Fields(arguments)...)
		assert.Equal(t, 2, code, arguments)
		assert.Empty(t, out, arguments)
		assert.Contains(t, stderr, "error: ", arguments)
		assert.Contains(t, stderr, want, arguments)
	}
}

// TestCompleteContexts completes the last name of the list.
func TestCompleteContexts(t *testing.T) {
	useClusters(t, map[string]http.Handler{"full": served{objects: fullText}})
	_, out, _ := run("", "__complete", "cards", "--contexts", "full,")
	assert.Contains(t, out, "full,away\nfull,full\n")
	_, out, _ = run("", "__complete", "cards", "--contexts", "f")
	assert.Contains(t, out, "full\n")
	_, out, _ = run("", "__complete", "top", "--contexts", "full", "")
	assert.Contains(t, out, "q\n", "the queues of the first cluster")
}

// TestMerged joins rows of equal columns, texts of a cluster, and documents.
func TestMerged(t *testing.T) {
	type named struct {
		cluster string
		*result
	}
	first := tableOf("CARD", "UNUSABLE")
	first.add("A", 1)
	second := tableOf("CARD", "UNUSABLE")
	second.add("B", 0)
	second.remove("UNUSABLE")
	other := tableOf("QUEUE")
	other.add("q")
	join := func(format string, all ...named) string {
		t.Helper()
		m := &merged{document: map[string]any{}, clusters: []map[string]any{{"cluster": "d", "error": "no answer"}}}
		for _, each := range all {
			require.NoError(t, m.add(format, each.cluster, each.result))
		}
		var out strings.Builder
		for _, r := range m.results(format) {
			require.NoError(t, r.print(&out, format, true))
		}
		return out.String()
	}
	b := named{"b", &result{rows: second, data: map[string]any{"version": "v1", "kind": "K", "items": []any{}, "saved": "today"}}}
	a := named{"a", &result{rows: first, data: map[string]any{"version": "v1", "kind": "K", "items": []any{map[string]any{"queue": "<q>"}}, "unknown": []string{"x"}}}}

	out := join(asTable, b, a, named{"a", &result{rows: other}}, named{"a", &result{text: "one\n"}}, named{"a", &result{text: "two\n"}}, named{"c", &result{text: "three\n"}})
	assert.Equal(t, "CLUSTER CARD UNUSABLE\nb B 0\na A 1\nCLUSTER QUEUE\na q\nCluster a:\none\n\ntwo\nCluster c:\nthree\n", single(out))

	out = join(asJSON, b, a)
	assert.JSONEq(t, `{"version": "v1", "kind": "K", "items": [{"cluster": "a", "queue": "<q>"}], "clusters": [
		{"cluster": "d", "error": "no answer"}, {"cluster": "b", "saved": "today"}, {"cluster": "a", "unknown": ["x"]}]}`, out)
	assert.Contains(t, out, "<q>", "as it is")

	none := join(asJSON, named{"a", &result{data: map[string]any{"items": []any(nil)}}})
	assert.JSONEq(t, `{"items": [], "clusters": [{"cluster": "d", "error": "no answer"}, {"cluster": "a"}]}`, none)
}

// TestClustersAnswerAsAlone compares the answers for several clusters with the answers for each cluster. Sessions on
// clusters follow each other in one process, and no cluster may show in the answers of another.
func TestClustersAnswerAsAlone(t *testing.T) {
	useClusters(t, map[string]http.Handler{"full": served{objects: fullText}, "waiting": served{objects: waitingText}})
	names := []string{"full", "waiting"}
	read := func(arguments ...string) map[string]any {
		t.Helper()
		code, out, stderr := run("", append(arguments, "-o", "json", "--plugin", plugin.Name)...)
		require.Zero(t, code, stderr)
		document := map[string]any{}
		require.NoError(t, json.Unmarshal([]byte(out), &document), out)
		return document
	}

	for _, command := range []string{"cards", "top", "explain", "usage", "audit"} {
		all := read(command, "--contexts", strings.Join(names, ","))
		for _, list := range itemFields {
			items, _ := all[list].([]any)
			for _, name := range names {
				alone, _ := read(command, "--context", name)[list].([]any)
				require.GreaterOrEqual(t, len(items), len(alone), "%s %s", command, list)
				for i, item := range alone {
					item.(map[string]any)["cluster"] = name
					assert.Equal(t, item, items[i], "%s %s", command, list)
				}
				items = items[len(alone):]
			}
			assert.Empty(t, items, "%s %s", command, list)
		}
	}
}

// TestConfigurationOfEachCluster finds the configuration of the scheduler in each cluster.
func TestConfigurationOfEachCluster(t *testing.T) {
	useClusters(t, map[string]http.Handler{"configured": badInput{word: "nothing"}, "full": served{objects: fullText}})
	code, _, stderr := run("", "top", "--contexts", "configured,full")
	assert.Zero(t, code, stderr)
	assert.Contains(t, stderr, "note: cluster configured: plugin capacity, queues are flat (ConfigMap volcano-system/volcano-scheduler-configmap)\n")
	assert.Contains(t, stderr, "warning: cluster full: no scheduler configuration")
	assert.Less(t, strings.Index(stderr, "cluster configured"), strings.Index(stderr, "cluster full"), "in the order of the flag")
}
