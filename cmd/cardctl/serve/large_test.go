package serve

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
	"github.com/capacity-card/capacity-card/cmd/cardctl/validate"
)

// departments has queues on two levels, with jobs that have cards, and more nodes than a page.
func departments(t *testing.T) *source {
	t.Helper()
	var text strings.Builder
	queue := func(name, parent, quota string) {
		fmt.Fprintf(&text, "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: %s, annotations: {volcano.sh/card.quota: '%s'}}\nspec: {parent: %s}\n", name, quota, parent)
	}
	for d := range 3 {
		department := fmt.Sprintf("department-%d", d)
		queue(department, "root", `{"X": 400}`)
		for i := range 10 {
			queue(fmt.Sprintf("team-%d-%d", d, i), department, `{"X": 1, "Unknown": 4}`)
		}
	}
	queue("other", "root", `{"Y": 400}`)
	for i := range 120 {
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: Node\nmetadata: {name: node-%03d, labels: {nvidia.com/gpu.product: X}}\nstatus: {allocatable: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 8}, conditions: [{type: Ready, status: \"True\"}]}\n", i)
	}
	fmt.Fprint(&text, "---\napiVersion: v1\nkind: Node\nmetadata: {name: node-under-repair, labels: {nvidia.com/gpu.product: Z}}\n"+
		"spec: {taints: [{key: repair, value: now, effect: NoSchedule}]}\nstatus: {allocatable: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 2}}\n")
	for i := range 30 {
		namespace := []string{"mine", "theirs"}[i%2]
		text.WriteString(jobOf(namespace, fmt.Sprintf("%s-%02d", namespace, i), fmt.Sprintf("team-%d-%d", i%3, i/3), fmt.Sprintf("node-%03d", i)))
	}
	path := filepath.Join(t.TempDir(), "departments.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return newSource(t, path)
}

// TestBarsOfAPage has bars that end at the quota of each queue, and one scale on demand.
func TestBarsOfAPage(t *testing.T) {
	h := newServer(t, departments(t), nil).Handler()
	own, common := get(h, "/queues?search=team-0-0").Body.String(), get(h, "/queues?search=team-0-0&scale=common").Body.String()
	assert.Contains(t, own, `<rect class="over" x="50" y="2" width="50"`, "it has two of one")
	assert.Contains(t, own, `href="/queues?scale=common&amp;search=team-0-0"`)
	assert.Regexp(t, `<rect class="over" x="0\.\d+" y="2" width="0\.\d+"`, common, "the root has more")
	assert.Contains(t, common, "All bars of a card have one scale.")
}

// TestSortedQueues sorts on the server, keeps the values of the form, and shows the order in the header.
func TestSortedQueues(t *testing.T) {
	h := newServer(t, departments(t), nil).Handler()
	body := get(h, "/queues?sort=use&resource=X").Body.String()
	assert.Contains(t, body, `aria-sort="descending"`)
	assert.Contains(t, body, `<input type="hidden" name="sort" value="use">`)
	assert.NotContains(t, body, `id="queue-other"`, "it has no such card")
	assert.Less(t, strings.Index(body, `id="queue-team-0-0"`), strings.Index(body, `id="queue-department-0"`))
	var list struct{ Items []queues.Queue }
	require.NoError(t, json.Unmarshal(get(h, "/queues.json?sort=use&resource=X").Body.Bytes(), &list))
	require.NotEmpty(t, list.Items)
	for i, q := range list.Items[1:] {
		assert.GreaterOrEqual(t, model.Orders["use"](&list.Items[i], "X"), model.Orders["use"](&q, "X"))
	}
	require.NoError(t, json.Unmarshal(get(h, "/queues.json?resource=Y").Body.Bytes(), &list))
	assert.Len(t, list.Items, 2, "the queue and the root")
}

// TestCellsOfJobs colours cards by department, or below a chosen queue, and links them to their jobs.
func TestCellsOfJobs(t *testing.T) {
	s := departments(t)
	h := newServer(t, s, nil).Handler()
	legend := regexp.MustCompile(`<li><span class="cell (\w+)"></span><a href="[^"]*">([^<]*)</a>`)
	of := func(path string) (names []string) {
		for _, found := range legend.FindAllStringSubmatch(get(h, path).Body.String(), -1) {
			names = append(names, found[2])
		}
		return names
	}
	assert.Equal(t, []string{"department-0", "department-1", "department-2"}, of("/cards"))
	assert.Len(t, of("/cards?queue=department-1"), 10)
	assert.Equal(t, []string{"team-1-3"}, of("/cards?queue=team-1-3"))
	body := get(h, "/cards").Body.String()
	assert.Contains(t, body, `<a class="held" href="/job/mine/mine-00" title="team-0-0: mine/mine-00" aria-label="team-0-0, mine/mine-00: 2"><span class="cell q1"></span><span class="cell q1"></span></a>`)
	assert.NotContains(t, body, `node-110`, "it is on the next page")
	assert.Contains(t, get(h, "/cards?node=node-110").Body.String(), `id="node-node-110"`)
	assert.Contains(t, get(h, "/cards?node=node-999").Body.String(), "Node node-999 has no cards.")
	assert.Contains(t, get(h, "/cards.json").Body.String(), `"name": "theirs-01"`)
	body = get(h, "/cards?card=Z").Body.String()
	assert.Contains(t, body, `2 on nodes that take no pods`)
	assert.Contains(t, body, `<span class="amounts"><span title="tainted repair=now:NoSchedule">tainted</span></span>`)
	assert.Contains(t, body, `aria-label="unusable: 2"`)

	h = newServer(t, s, as(restricted{queues: true, namespaces: []string{"mine"}})).Handler()
	body = get(h, "/cards?node=node-110").Body.String()
	assert.Contains(t, body, "/job/mine/mine-00")
	assert.Contains(t, body, `title="team-1-0" aria-label="team-1-0: 2"`, "a job of another namespace")
	assert.NotContains(t, body, `id="node-`, "names of nodes")
	assert.Contains(t, body, "Node node-110 has no cards.", "whether it exists is not said")
}

// TestProblems groups issues that differ in names and numbers.
func TestProblems(t *testing.T) {
	issue := func(object, field, message string) validate.Issue {
		return validate.Issue{Severity: validate.Error, Object: object, Field: field, Message: message}
	}
	groups := problemsOf([]validate.Issue{
		issue("Queue/a", "x", `"H200" is 8, more than the 4 of its parent p`), issue("Queue/a", "x", `"A100" is 9, more than the 7 of its parent other`),
		issue("Queue/b", "y", `"A100" is 9, more than the 7 of its parent other`), issue("Job/c", "", "it cannot run, even alone: Queue <q> lacks 7 X; Queue <r> lacks 1 (OverQuota)"),
		issue("Job/d", "", "it cannot run, even alone: Queue <s> lacks 7 X (OverQuota)"), issue("Job/e", "", "it cannot run, even alone: no (ClosedQueue)"),
		issue("Job/f", "spec.tasks[0].minAvailable", "3 is more than its 2 replicas"), issue("Job/f", "spec.tasks[1].minAvailable", "4 is more than its 2 replicas"),
	}, (&model.Checks{}).Alike)
	var texts []string
	for _, p := range groups {
		texts = append(texts, fmt.Sprint(p.Count, " ", p.Field, " ", p.Text, " ", p.Examples()))
	}
	assert.Equal(t, []string{
		`2 x "…" is …, more than the … of its parent … [Queue/a]`, `1 y "A100" is 9, more than the 7 of its parent other [Queue/b]`,
		"2  it cannot run, even alone (OverQuota) [Job/c Job/d]", "1  it cannot run, even alone: no (ClosedQueue) [Job/e]",
		"2 spec.tasks[…].minAvailable … is more than its … replicas [Job/f]",
	}, texts)
}

// TestHealthIsShort has a row for each problem, and its issues on pages.
func TestHealthIsShort(t *testing.T) {
	s := departments(t)
	h := newServer(t, s, nil).Handler()
	body := get(h, "/health").Body.String()
	assert.Contains(t, words(body), `warning no node has the card "…" metadata.annotations[volcano.sh/card.quota] 31 Queue/team-0-0 , Queue/team-0-1 , Queue/team-0-2 · all 31`)
	link := regexp.MustCompile(`href="(/health\?problem=\w+)">all 31<`).FindStringSubmatch(body)
	require.NotNil(t, link)
	opened := get(h, link[1]).Body.String()
	assert.Contains(t, opened, `<a href="/queue/team-2-9">Queue/team-2-9</a>`)
	assert.NotContains(t, body, "team-2-9")
	var document struct {
		Problems []struct {
			Problem string
			Count   int
		}
		Issues []validate.Issue
	}
	require.NoError(t, json.Unmarshal(get(h, "/health.json").Body.Bytes(), &document))
	sum := 0
	for _, p := range document.Problems {
		sum += p.Count
	}
	assert.Equal(t, len(document.Issues), sum)
}

// TestWaitingHasColumns shows for each job the card, the amount, the priority and the age.
func TestWaitingHasColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shared.yaml")
	text := shared + strings.ReplaceAll(jobOf("a", "many", "limits", ""), "minMember: 1,", "minMember: 1, priorityClassName: high,") +
		"---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 70\n"
	text = strings.Replace(text, "metadata: {name: many, namespace: a}", "metadata: {name: many, namespace: a, creationTimestamp: \"2020-01-01T00:00:00Z\"}", 1)
	text = strings.ReplaceAll(text, "volcano.sh/card.name: X,", "volcano.sh/card.name: X|Y,")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	h := newServer(t, newSource(t, path), nil).Handler()
	assert.Regexp(t, `a/many limits 1 X\|Y 2 70 \d+y\d*d? 0 of 2`, words(get(h, "/waiting").Body.String()))
	var list struct{ Items []jobRow }
	require.NoError(t, json.Unmarshal(get(h, "/waiting.json").Body.Bytes(), &list))
	require.Len(t, list.Items, 1)
	assert.Equal(t, int32(70), list.Items[0].Priority)
	assert.Equal(t, []stock.Amount{{Card: "X|Y", Cards: 2}}, list.Items[0].Requests)
}

// TestWaitingIsShort has the first jobs of the first causes, and the others on further pages.
func TestWaitingIsShort(t *testing.T) {
	text := "apiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {nvidia.com/gpu.product: X}}\nstatus: {allocatable: {cpu: 64, memory: 64Gi, pods: 100, nvidia.com/gpu: 8}}\n"
	for i := range 30 {
		text += fmt.Sprintf("---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: team-%02d, annotations: {volcano.sh/card.quota: '{\"X\": 1}'}}\n", i)
		for j := range 8 {
			text += jobOf("a", fmt.Sprintf("job-%02d-%d", i, j), fmt.Sprintf("team-%02d", i), "")
		}
	}
	path := filepath.Join(t.TempDir(), "teams.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	h := newServer(t, newSource(t, path), nil).Handler()
	links := regexp.MustCompile(`href="/job/a/job-(\d\d-\d)"`)
	body := get(h, "/waiting").Body.String()
	assert.Len(t, links.FindAllString(body, -1), causesPerPage*jobsPerCause)
	more := regexp.MustCompile(`href="(/waiting\?open=[^"]*)">More: 3 jobs<`).FindStringSubmatch(body)
	require.NotNil(t, more)
	assert.Len(t, links.FindAllString(get(h, html.UnescapeString(more[1])).Body.String(), -1), causesPerPage*jobsPerCause+3)
	assert.Len(t, links.FindAllString(get(h, "/waiting?page=1").Body.String(), -1), 10*jobsPerCause)
}

// TestUnread names the objects that are not shown because a kind cannot be listed, and gives no number for them.
func TestUnread(t *testing.T) {
	s := newSource(t, examples)
	s.objects.PodGroups, s.objects.Jobs, s.objects.Pods, s.objects.Nodes = nil, nil, nil, nil
	s.objects.Unread = []string{"nodes", "pods", "podgroups.scheduling.volcano.sh", "deployments.apps"}
	h := newServer(t, s, nil).Handler()
	for _, path := range []string{"/", "/queues", "/queue/research", "/waiting", "/cards", "/health", "/history"} {
		text := words(get(h, path).Body.String())
		assert.Contains(t, text, "PodGroups cannot be listed: jobs are not shown.", path)
		assert.Contains(t, text, "Nodes cannot be listed: cards on nodes are not shown.", path)
		assert.NotContains(t, text, "0 jobs", path)
		assert.NotContains(t, text, "No job waits.", path)
		assert.NotContains(t, text, "No job runs.", path)
		assert.NotContains(t, text, "Deployments", path)
	}
	for _, path := range []string{"/overview.json", "/queues.json", "/waiting.json", "/queue/research/json", "/health.json"} {
		assert.Contains(t, get(h, path).Body.String(), `"unread": [`, path)
	}
	s = newSource(t, examples)
	s.objects.Unread = []string{"podgroups.scheduling.volcano.sh"}
	assert.Contains(t, words(get(newServer(t, s, nil).Handler(), "/waiting").Body.String()), "PodGroups cannot be listed: jobs without pods are not shown.")
	assert.Equal(t, []string{"podgroups.scheduling.volcano.sh"}, s.objects.Clone().Unread)
	assert.Empty(t, input.New().Unread)
}
