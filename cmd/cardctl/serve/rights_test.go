package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// restricted is a viewer of some namespaces.
type restricted struct {
	queues, nodes bool
	namespaces    []string
}

func (r restricted) Name() string { return "restricted" }

func (r restricted) Nodes(context.Context) bool { return r.nodes }

func (r restricted) Queues(context.Context) bool { return r.queues }

func (r restricted) Namespace(_ context.Context, name string) bool {
	return slices.Contains(r.namespaces, name)
}

func as(v Viewer) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if v != nil {
				r = r.WithContext(WithViewer(r.Context(), v))
			}
			next.ServeHTTP(w, r)
		})
	}
}

// shared has two namespaces with jobs that run and wait in the same queues. Jobs have the names of their namespaces.
// Nodes and queues have names of their own.
const shared = `
apiVersion: v1
kind: Node
metadata: {name: node-one, labels: {nvidia.com/gpu.product: X}}
status: {allocatable: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 4}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Node
metadata: {name: node-gone, labels: {nvidia.com/gpu.product: X}}
status: {allocatable: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 1}, conditions: [{type: Ready, status: "False"}]}
---
apiVersion: v1
kind: Node
metadata: {name: node-bare}
status: {allocatable: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 1}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: lends, annotations: {volcano.sh/min-runtime: reclaim=1h, volcano.sh/card.quota: '{"X": 4}', volcano.sh/card.deserved: '{"X": 0}', volcano.sh/card.guarantee: '{"X": 0}'}}
spec: {reclaimable: true, capability: {cpu: 64, memory: 64Gi}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: owns, annotations: {volcano.sh/card.quota: '{"X": 2}', volcano.sh/card.guarantee: '{"X": 0}'}}
spec: {reclaimable: true, capability: {cpu: 64, memory: 64Gi}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: limits, annotations: {volcano.sh/card.quota: '{"X": 2}', volcano.sh/card.guarantee: '{"X": 0}', volcano.sh/card.quota.by: '{"namespace": {"*": {"X": 1}}}'}}
spec: {reclaimable: true, capability: {cpu: 64, memory: 64Gi}}
`

// jobOf is a job with two pods that are on a node, if there is one, or wait.
func jobOf(namespace, name, queue, node string) string {
	phase, on := "Inqueue", ""
	if node != "" {
		phase, on = "Running", "nodeName: "+node+", "
	}
	text := fmt.Sprintf("---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: %[2]s, namespace: %[1]s}\n"+
		"spec: {queue: %[3]s, minMember: 1, minResources: {cpu: 1}}\nstatus: {phase: %[4]s}\n", namespace, name, queue, phase)
	for i := range 2 {
		text += fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: %[2]s-%[3]d, namespace: %[1]s, annotations: {scheduling.k8s.io/group-name: %[2]s, volcano.sh/card.name: X, volcano.sh/preemptable: \"true\"}}\n"+
			"spec: {schedulerName: volcano, %[4]scontainers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1}}}]}\nstatus: {phase: %[5]s}\n",
			namespace, name, i, on, map[bool]string{true: "Running", false: "Pending"}[node != ""])
	}
	return text
}

// TestRights looks for names in all views and their JSON, as viewers see them who may see
// queues, nodes and namespaces one by one.
func TestRights(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shared.yaml")
	text := shared + jobOf("mine", "mine-runs", "lends", "node-one") + jobOf("theirs", "theirs-runs", "lends", "node-one") +
		jobOf("mine", "mine-waits", "owns", "") + jobOf("theirs", "theirs-waits", "owns", "") + jobOf("mine", "mine-big", "lends", "") + jobOf("theirs", "theirs-many", "limits", "") + jobOf("theirs", "theirs-lost", "vanished", "")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	s := newSource(t, path)
	for _, namespace := range []string{"mine", "theirs"} {
		s.evicted = append(s.evicted, input.Evicted{Time: time.Now(), Namespace: namespace, Pod: namespace + "-runs-0", PodGroup: namespace + "-runs", Node: "node-one"},
			input.Evicted{Time: time.Now(), Namespace: namespace, Pod: namespace + "-old-0", Node: "node-one", FromEvent: true})
	}
	s.notes = []model.Note{{Severity: "warning", Text: "no permission to list priorityclasses of https://10.9.8.7:6443"}}
	everyone := restricted{queues: true, nodes: true, namespaces: []string{"", "mine", "theirs"}}
	hides := map[string]func(restricted) bool{
		"mine-":                func(r restricted) bool { return !slices.Contains(r.namespaces, "mine") },
		"theirs-":              func(r restricted) bool { return !slices.Contains(r.namespaces, "theirs") },
		"for namespace theirs": func(r restricted) bool { return !slices.Contains(r.namespaces, "theirs") },
		"queue lends has":      func(r restricted) bool { return !r.queues },
		"lends spares":         func(r restricted) bool { return !r.queues },
		">of queue lends":      func(r restricted) bool { return !r.queues },
		"node-":                func(r restricted) bool { return !r.nodes },
		"vanished":             func(r restricted) bool { return !slices.Contains(r.namespaces, "theirs") },
		"10.9.8.7":             func(r restricted) bool { return !r.queues },
	}
	type view struct {
		path   string
		queues bool   // it needs the permission to list queues
		needs  string // the namespace that it needs
		shows  string // names that everyone with all rights sees
		form   url.Values
	}
	views := []view{
		{path: "/overview", queues: true, shows: "mine- theirs- vanished"},
		{path: "/queues", queues: true}, {path: "/history", queues: true}, {path: "/health", queues: true, shows: "theirs-"},
		{path: "/queue/lends", queues: true, shows: "mine- theirs- node-"}, {path: "/queue/owns", queues: true, shows: "mine- theirs-"},
		{path: "/cards?queue=lends", queues: true, shows: "mine- theirs- node-"},
		{path: "/waiting", shows: "mine- theirs- theirs min-runtime vanished 10.9.8.7"}, {path: "/waiting?queue=owns", shows: "mine- theirs-"}, {path: "/waiting?search=waits", shows: "mine- theirs-"},
		{path: "/mine", shows: "mine- theirs-"},
		{path: "/cards", queues: true, shows: "node-"}, {path: "/lending", queues: true, shows: "mine- theirs- node-"},
		{path: "/whatif", queues: true}, {path: "/whatif", queues: true, shows: "mine- theirs- node-", form: url.Values{"set": {"queue/lends:cards.X=0\nqueue/owns:cards.X=4"}}},
		{path: "/job/mine/mine-runs", needs: "mine", shows: "mine-"}, {path: "/job/mine/mine-waits", needs: "mine", shows: "mine- node- lends"},
		{path: "/job/theirs/theirs-waits", needs: "theirs", shows: "theirs- node-"}, {path: "/job/mine/mine-big", needs: "mine", shows: "mine- theirs-"},
	}
	for name, who := range map[string]restricted{
		"everything": everyone, "queues only": {queues: true}, "nodes only": {nodes: true}, "nothing": {},
		"queues and nodes": {queues: true, nodes: true}, "one namespace only": {namespaces: []string{"mine"}},
		"queues and one namespace": {queues: true, namespaces: []string{"mine"}}, "queues, nodes and the other namespace": {queues: true, nodes: true, namespaces: []string{"theirs"}},
	} {
		server := newServer(t, s, as(who))
		s.fail(errors.New("the cluster https://10.9.8.7:6443 cannot be reached"))
		server.keeper.read(t.Context(), true)
		s.fail(nil)
		h := server.Handler()
		for _, v := range views {
			shown := ""
			for _, path := range []string{v.path, asJSON(v.path)} {
				w := get(h, path)
				if v.form != nil {
					w = post(h, path, v.form)
				}
				body, want := w.Body.String(), http.StatusOK
				switch {
				case v.queues && !who.queues:
					want = http.StatusForbidden
				case v.needs != "" && !slices.Contains(who.namespaces, v.needs):
					want, body = http.StatusNotFound, strings.ReplaceAll(body, v.needs+"-", "") // the name that was asked for
				}
				require.Equal(t, want, w.Code, "%s: %s: %s", name, path, body)
				for _, queue := range []string{"lends", "owns", "limits"} {
					if !who.queues && len(who.namespaces) == 0 && !strings.Contains(path, queue) {
						assert.NotContains(t, body, queue, "%s: %s", name, path)
					}
				}
				for part, hidden := range hides {
					if hidden(who) {
						assert.NotContains(t, body, part, "%s: %s", name, path)
					}
				}
				shown += body
			}
			for _, part := range strings.Fields(v.shows) {
				if name == "everything" {
					assert.Contains(t, shown, part, v.path)
				}
			}
		}
	}
}

// TestFirstPage opens the pages as viewers with and without the right to list queues.
func TestFirstPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shared.yaml")
	text := shared + jobOf("mine", "mine-runs", "lends", "node-one") + jobOf("theirs", "theirs-runs", "lends", "node-one") +
		jobOf("mine", "mine-waits", "owns", "") + jobOf("mine", "mine-big", "lends", "")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	for name, test := range map[string]struct {
		who        restricted
		path       string
		shows, not []string
	}{
		"queues": {restricted{queues: true, namespaces: []string{"mine"}}, "/", []string{"<h1>Overview</h1>"}, []string{"Your jobs"}},
		"one namespace": {restricted{namespaces: []string{"mine"}}, "/", []string{"<h1>Your jobs</h1>", "mine-waits", "mine-runs", "Running", "owns",
			"explain -n mine", `href="/mine.json"`, `href="/waiting"`, "Not shown, since you may not list them: queues", "capacity-card-viewer"},
			[]string{"theirs-", `href="/queues"`, "/queue/"}},
		"one namespace, in Chinese": {restricted{namespaces: []string{"mine"}}, "/?lang=zh", []string{"<h1>您的作业</h1>", "未显示"}, []string{"Not shown", "running"}},
		"no namespace":              {restricted{}, "/", []string{"No namespace has a job where you may list the pods."}, []string{"mine-", "theirs-", "lends"}},
		"as JSON":                   {restricted{namespaces: []string{"mine"}}, "/mine.json", []string{`"kind": "ExplanationList"`, "mine-waits", "mine-runs"}, []string{"theirs-"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := get(newServer(t, newSource(t, path), as(test.who)).Handler(), test.path)
			require.Equal(t, http.StatusOK, w.Code)
			for _, part := range test.shows {
				assert.Contains(t, w.Body.String(), part)
			}
			for _, part := range test.not {
				assert.NotContains(t, w.Body.String(), part)
			}
			if test.path == "/" && len(test.who.namespaces) > 0 && !test.who.queues {
				body := w.Body.String()
				assert.Less(t, strings.Index(body, "mine-waits"), strings.Index(body, "mine-runs"), "jobs that wait come first")
			}
		})
	}
}

// TestRightsOfSimulations changes objects that viewers may not see. The answer is the same whether or not the object
// exists.
func TestRightsOfSimulations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shared.yaml")
	text := shared + jobOf("mine", "mine-runs", "lends", "node-one") + jobOf("theirs", "theirs-runs", "lends", "node-one") + jobOf("mine", "mine-waits", "owns", "")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	s := newSource(t, path)
	const (
		job        = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: NAME, namespace: %s}\nspec: {queue: lends, tasks: [{replicas: 0, template: {spec: {%s containers: [{name: c, image: i}]}}}]}\n"
		deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: NAME, namespace: %s}\nspec: {replicas: 0, template: {spec: {schedulerName: volcano, %s containers: [{name: c, image: i}]}}}\n"
		pod        = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME, namespace: %s}\nspec: {schedulerName: volcano, %s containers: [{name: c, image: i}]}\n"
		group      = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: NAME, namespace: %s}\nspec: {queue: lends}\n"
		term       = "{topologyKey: a, %s}"
		slice      = "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: NAME}\nspec: {driver: gpu.example.com, nodeName: node-one, pool: {name: p, generation: 1, resourceSliceCount: 1}}\n"
		claim      = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: NAME, namespace: %s}\nspec: {}\n"
	)
	add := func(format string, values ...any) url.Values {
		return url.Values{"add": {fmt.Sprintf(format, values...)}}
	}
	near := func(kind, term string) string {
		return fmt.Sprintf("affinity: {%s: {requiredDuringSchedulingIgnoredDuringExecution: [%s]}},", kind, term)
	}
	rather := func(kind, term string) string {
		return fmt.Sprintf("affinity: {%s: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: %s}]}},", kind, term)
	}
	nodes := func(r restricted) bool { return r.nodes }
	theirs := func(r restricted) bool { return slices.Contains(r.namespaces, "theirs") }
	all := func(r restricted) bool { return slices.Contains(r.namespaces, "") }
	both := func(r restricted) bool { return true }
	for name, c := range map[string]struct {
		form url.Values
		may  func(restricted) bool
	}{
		"a job":                        {add(job, "theirs", ""), theirs},
		"a Deployment":                 {add(deployment, "theirs", ""), theirs},
		"a pod":                        {add(pod, "theirs", ""), theirs},
		"a PodGroup":                   {add(group, "theirs"), theirs},
		"a job of their own":           {add(job, "mine", ""), both},
		"nodeName":                     {add(pod, "mine", "nodeName: node-one,"), nodes},
		"nodeSelector":                 {add(deployment, "mine", "nodeSelector: {kubernetes.io/hostname: node-one},"), nodes},
		"nodeSelector of a job":        {add(job, "mine", "nodeSelector: {kubernetes.io/hostname: node-one},"), nodes},
		"node affinity":                {add(pod, "mine", "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-one]}]}]}}},"), nodes},
		"a nominated node":             {url.Values{"add": {fmt.Sprintf(pod, "mine", "") + "status: {nominatedNodeName: node-one}\n"}}, nodes},
		"pods of another namespace":    {add(pod, "mine", near("podAffinity", fmt.Sprintf(term, "namespaces: [theirs]"))), theirs},
		"not near them":                {add(job, "mine", near("podAntiAffinity", fmt.Sprintf(term, "namespaces: [theirs]"))), theirs},
		"rather near them":             {add(pod, "mine", rather("podAffinity", fmt.Sprintf(term, "namespaces: [theirs]"))), theirs},
		"rather not near them":         {add(pod, "mine", rather("podAntiAffinity", fmt.Sprintf(term, "namespaceSelector: {}"))), all},
		"pods of all namespaces":       {add(pod, "mine", near("podAffinity", fmt.Sprintf(term, "namespaceSelector: {}"))), all},
		"pods of their own namespaces": {add(pod, "mine", near("podAntiAffinity", fmt.Sprintf(term, "namespaces: [mine]"))), both},
		"a node":                       {add("apiVersion: v1\nkind: Node\nmetadata: {name: node-one}\n"), nodes},
		"a ResourceSlice":              {add(slice), nodes},
		"a DeviceClass":                {add("apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: NAME}\nspec: {}\n"), nodes},
		"a ResourceClaim":              {add(claim, "mine"), nodes},
		"a claim of another namespace": {add(claim, "theirs"), func(r restricted) bool { return nodes(r) && theirs(r) }},
		"a PriorityClass":              {add("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: NAME}\nvalue: 1\n"), all},
		"a queue":                      {add("apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: lends}\n"), both},
		"no node":                      {url.Values{"remove": {"node/node-one"}}, nodes},
		"no job":                       {url.Values{"remove": {"job/theirs/theirs-runs"}}, theirs},
		"no job of any namespace":      {url.Values{"remove": {"job/theirs-runs"}}, theirs},
	} {
		for who, viewer := range map[string]restricted{
			"everything": {queues: true, nodes: true, namespaces: []string{"", "mine", "theirs"}}, "one namespace": {queues: true, namespaces: []string{"mine"}},
			"nodes": {queues: true, nodes: true, namespaces: []string{"mine"}}, "both namespaces": {queues: true, namespaces: []string{"mine", "theirs"}},
		} {
			h := newServer(t, s, as(viewer)).Handler()
			answer := func(existing, instead string) (status int, body string) {
				form := url.Values{}
				for key, values := range c.form {
					form[key] = []string{strings.NewReplacer("NAME", instead, existing, instead).Replace(values[0])}
				}
				w := post(h, "/whatif.json", form)
				return w.Code, strings.ReplaceAll(w.Body.String(), instead, "")
			}
			existing, other := "theirs-runs", "theirs-none"
			if strings.Contains(c.form.Encode(), "node-one") {
				existing, other = "node-one", "node-none"
			}
			status, body := answer(existing, existing)
			if c.may(viewer) {
				assert.Equal(t, http.StatusOK, status, "%s, %s: %s", name, who, body)
				continue
			}
			assert.Equal(t, http.StatusBadRequest, status, "%s, %s: %s", name, who, body)
			otherStatus, otherBody := answer(existing, other)
			assert.Equal(t, []any{status, body}, []any{otherStatus, otherBody}, "%s, %s", name, who)
		}
	}
}

// TestHiddenEventsDiffer counts the pod of one hidden job that is placed in place of the pod of another.
func TestHiddenEventsDiffer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "two.yaml")
	queue := "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: %s, annotations: {volcano.sh/card.quota: '{\"X\": %d}'}}\n"
	text := shared + fmt.Sprintf(queue, "has", 1) + fmt.Sprintf(queue, "lacks", 0) +
		jobOf("theirs", "theirs-first", "has", "") + jobOf("theirs", "theirs-second", "lacks", "")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	for name, who := range map[string]restricted{"hidden": {queues: true}, "seen": {queues: true, nodes: true, namespaces: []string{"theirs"}}} {
		h := newServer(t, newSource(t, path), as(who)).Handler()
		body := post(h, "/whatif", url.Values{"set": {"queue/has:cards.X=0\nqueue/lacks:cards.X=1"}}).Body.String()
		assert.Contains(t, body, "With the change: 1 pod placed, 0 pods evicted", name)
		assert.Equal(t, name == "seen", strings.Contains(body, "theirs-second"), name)
		assert.Equal(t, name == "seen", strings.Contains(body, "node-one"), name)
	}
}

// TestJobsThatGoFirst hides the job that holds back another one from viewers who may not see it.
func TestJobsThatGoFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "line.yaml")
	text := shared + "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\n" +
		"metadata: {name: line, annotations: {volcano.sh/order: fifo, volcano.sh/card.quota: '{\"X\": 3}'}}\n" +
		jobOf("mine", "mine-runs", "line", "node-one") + strings.Replace(jobOf("theirs", "theirs-first", "line", ""), "minMember: 1", "minMember: 2", 1) +
		strings.Replace(jobOf("mine", "mine-later", "line", ""), "namespace: mine}", "namespace: mine, creationTimestamp: '2026-01-01T00:00:00Z'}", 1)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))

	held := "job <theirs/theirs-first> of queue <lends>"
	reason := &report.Reason{Rule: report.HeldForFairShare, Queue: "owns", Detail: held}
	waits := explain.Finding{Message: reason.String(), Reason: reason, Claim: &explain.Claim{Refused: reason}, Untaken: held, Advice: []string{held}}
	for name, who := range map[string]restricted{
		"all": {queues: true, namespaces: []string{"mine", "theirs"}}, "one namespace": {queues: true, namespaces: []string{"mine"}}, "no queues": {namespaces: []string{"mine"}},
	} {
		h := newServer(t, newSource(t, path), as(who)).Handler()
		for _, path := range []string{"/job/mine/mine-later", "/job/mine/mine-later/json?", "/waiting.json"} {
			body := get(h, path).Body.String()
			assert.Contains(t, body, "HeldByOrder", "%s %s", name, path)
			assert.Equal(t, name == "all", strings.Contains(body, "theirs-first"), "%s %s", name, path)
		}

		visible := newSeen(WithViewer(t.Context(), who)).job(waits)
		text := fmt.Sprint(visible.Message, visible.Reason, visible.Claim.Refused, visible.Untaken, visible.Advice)
		assert.Equal(t, name == "all", strings.Contains(text, "theirs"), "%s: %s", name, text)
		assert.Equal(t, name != "no queues", strings.Contains(text, "lends"), "%s: %s", name, text)
		assert.Equal(t, held, reason.Detail, "other viewers see it")
	}
}

// TestNamesOfQueues hides the children of an inner queue from viewers who may not list queues, and
// queues that do not exist from all who may not see the jobs in them.
func TestNamesOfQueues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tree.yaml")
	queue := func(name, parent string) string {
		return "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: " + name + "}\nspec: {parent: " + parent + "}\n"
	}
	text := queue("team", "root") + queue("secret-a", "team") + queue("secret-b", "team") + jobOf("mine", "mine-inner", "team", "") + jobOf("theirs", "theirs-lost", "vanished", "")
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "Inqueue", "Pending")), 0o600))
	s := newSource(t, path)
	s.changed = make(chan struct{}) // a cluster, which has a past
	s.evicted = []input.Evicted{{Time: time.Now(), Namespace: "theirs", Pod: "theirs-lost-9", PodGroup: "theirs-lost", Node: "n"}}
	may := restricted{queues: true, namespaces: []string{"mine", "theirs"}}
	for name, who := range map[string]restricted{"may": may, "no queues": {namespaces: []string{"mine"}}, "queues only": {queues: true, namespaces: []string{"mine"}}} {
		h := newServer(t, s, as(who)).Handler()
		for _, path := range []string{"/job/mine/mine-inner", "/waiting", "/waiting?queue=vanished", "/history?queue=vanished", "/history?queue=vanished&resource=X", "/lending"} {
			for _, path := range []string{path, asJSON(path)} {
				body := get(h, path).Body.String()
				if strings.HasPrefix(path, "/job") {
					assert.Contains(t, body, "submit it to a queue without children", "%s %s", name, path)
				}
				if !who.queues {
					assert.NotContains(t, body, "secret-", "%s %s", name, path)
				} else if strings.HasPrefix(path, "/job") {
					assert.Contains(t, body, "secret-a, secret-b", "%s %s", name, path)
				}
				if strings.Contains(path, "queue=vanished") {
					assert.NotContains(t, body, `"value": 1`, "%s %s: who asks for it learns no number", name, path)
					body = strings.ReplaceAll(body, "vanished", "")
				}
				if name != "may" {
					assert.NotContains(t, body, "theirs-lost", "%s %s", name, path)
				}
			}
		}
		body := get(h, "/waiting").Body.String()
		assert.Equal(t, name == "may", strings.Contains(body, "vanished"), name)
		if name == "queues only" {
			assert.Contains(t, body, hiddenName+": the queue does not exist")
			assert.NotContains(t, get(h, "/waiting?queue=vanished").Body.String(), "1 job", "not even a sum")
		}
	}
}

// TestFailuresOfTheFirstReading tells viewers who may not list queues nothing of the API server.
func TestFailuresOfTheFirstReading(t *testing.T) {
	s := newSource(t)
	s.objects = nil
	s.fail(errors.New("the cluster https://10.9.8.7:6443 cannot be reached"))
	for _, queues := range []bool{true, false} {
		h := newServer(t, s, as(restricted{queues: queues})).Handler()
		for _, path := range []string{"/waiting", "/waiting.json"} {
			body := get(h, path).Body.String()
			assert.Equal(t, queues, strings.Contains(body, "10.9.8.7"), path)
			assert.Equal(t, !queues, strings.Contains(body, "the cluster cannot be read"), path)
		}
	}
}
