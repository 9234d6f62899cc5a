package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
)

// team is an API server. The user may list the objects of the namespace mine, except the denied kinds.
type team struct{ denied []string }

func (c team) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	kind := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	objects, known := teamObjects[kind]
	if !strings.Contains(r.URL.Path, "/namespaces/mine/") || !known || strings.Contains(strings.Join(c.denied, " "), kind) {
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden",
			"message": kind + " is forbidden: User \"ben\" cannot list resource"})
		return
	}
	ago := func(d time.Duration) string { return time.Now().Add(-d).UTC().Format(time.RFC3339) }
	objects = strings.NewReplacer("T1", ago(time.Hour), "T2", ago(10*time.Minute), "T3", ago(2*time.Minute)).Replace(objects)
	_, _ = fmt.Fprintf(w, `{"kind": %q, "apiVersion": %q, "items": [%s]}`, map[string]string{"podgroups": "PodGroupList", "pods": "PodList", "events": "EventList"}[kind],
		map[bool]string{true: "scheduling.volcano.sh/v1beta1", false: "v1"}[kind == "podgroups"], objects)
}

// teamObjects are the objects of the namespace mine, by kind.
var teamObjects = map[string]string{
	"podgroups": `
	{"metadata": {"namespace": "mine", "name": "runs-1", "creationTimestamp": "T1", "ownerReferences": [{"kind": "Job", "name": "runs"}]},
	 "spec": {"queue": "own", "minMember": 1}, "status": {"phase": "Running"}},
	{"metadata": {"namespace": "mine", "name": "second-1", "annotations": {"volcano.sh/card.reason": "{\"rule\": \"OverQuota\", \"queue\": \"own\"}"}, "creationTimestamp": "T2", "ownerReferences": [{"kind": "Job", "name": "second"}]},
	 "spec": {"queue": "own", "minMember": 2}, "status": {"phase": "Pending", "conditions": [{"type": "Unschedulable", "status": "True", "reason": "OverQuota", "lastTransitionTime": "T3",
	  "message": "Queue <own> has insufficient <A> quota: requested <2>, total would be <9>, but capability is <8>"}]}},
	{"metadata": {"namespace": "mine", "name": "first-1", "creationTimestamp": "T1", "ownerReferences": [{"kind": "Job", "name": "first"}]},
	 "spec": {"queue": "own", "minMember": 1}, "status": {"phase": "Inqueue", "conditions": [{"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "lastTransitionTime": "T3",
	  "message": "1/1 tasks in gang unschedulable: pod group is not ready"}]}},
	{"metadata": {"namespace": "mine", "name": "other-1", "labels": {"app": "x"}, "creationTimestamp": "T2", "ownerReferences": [{"kind": "Job", "name": "other"}]},
	 "spec": {"queue": "shared", "minMember": 1}, "status": {"phase": "Pending"}},
	{"metadata": {"namespace": "mine", "name": "done-1", "creationTimestamp": "T2", "ownerReferences": [{"kind": "Job", "name": "done"}]}, "spec": {"queue": "own"}, "status": {"phase": "Completed"}}`,
	"pods": `
	{"metadata": {"namespace": "mine", "name": "runs-0", "annotations": {"scheduling.k8s.io/group-name": "runs-1"}}, "spec": {"nodeName": "n"}, "status": {"phase": "Running"}},
	{"metadata": {"namespace": "mine", "name": "first-0", "labels": {"app": "y"}, "annotations": {"scheduling.k8s.io/group-name": "first-1"}}, "spec": {}, "status": {"phase": "Pending",
	 "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": "T3", "message": "Queue <own> has insufficient <A> quota: requested <1>"}]}}`,
	"events": `
	{"metadata": {"namespace": "mine", "name": "e1"}, "type": "Warning", "reason": "Unschedulable", "message": "the older one", "lastTimestamp": "T2", "involvedObject": {"kind": "Job", "name": "second"}},
	{"metadata": {"namespace": "mine", "name": "e2"}, "type": "Normal", "reason": "Evict", "message": "Evicted for job x", "lastTimestamp": "T3", "involvedObject": {"kind": "PodGroup", "name": "second-1"}},
	{"metadata": {"namespace": "mine", "name": "e3"}, "type": "Warning", "reason": "Unschedulable", "message": "of a pod", "lastTimestamp": "T3", "involvedObject": {"kind": "Pod", "name": "first-0"}}`,
}

// TestExplainOneNamespace asks as a user who may list objects of one namespace only.
func TestExplainOneNamespace(t *testing.T) {
	const unseen = "The answers are what the scheduler has written in namespace mine. Not seen: what queues have, who has it, and what would help. " +
		"The ClusterRole capacity-card-viewer (deploy/cardctl) shows it"
	for name, test := range map[string]struct {
		arguments string
		denied    []string
		out       []string
		not       string
		stderr    string
		code      int
	}{
		"all that wait": {arguments: "explain -n mine", out: []string{"Job/first    own      Waiting   Inqueue   0        1         1 of 2   60m   Queue <own> has insufficient <A> quota: requested <1>",
			"Job/second   own      Waiting   Pending   0        0         2 of 2   10m   Queue <own> has insufficient <A> quota: requested <2>, total would be <9>, but capability is <8>",
			"Job/other    shared   Waiting   Pending   0        0         1 of 1"}, not: "Job/runs", stderr: unseen},
		"a job that is not admitted": {arguments: "explain -n mine job second", out: []string{"Queue:      own", "State:      Waiting", "2 needed to start",
			"Rule:       OverQuota at queue own", "Why:        Queue <own> has insufficient <A> quota: requested <2>, total would be <9>, but capability is <8>", "Since:      2m (condition OverQuota)",
			"Place:      2 of 2 jobs of namespace mine that wait in queue own, by age", "Events:     - 2m Normal Evict of PodGroup/second-1: Evicted for job x\n            - 10m Warning Unschedulable of Job/second: the older one"},
			not: "of a pod", stderr: unseen},
		"a job with pods":   {arguments: "explain -n mine job first", out: []string{"Why:        Queue <own> has insufficient <A> quota: requested <1>\n", "of a pod"}, stderr: unseen},
		"a pod":             {arguments: "explain -n mine pod first-0", out: []string{"Job:        mine/Job/first"}, stderr: unseen},
		"a queue":           {arguments: "explain -n mine queue shared", out: []string{"Job/other"}, not: "Job/first", stderr: unseen},
		"no reason yet":     {arguments: "explain -n mine job other", out: []string{"Why:        the scheduler has written no reason yet"}, stderr: unseen},
		"a job that runs":   {arguments: "explain -n mine job runs", out: []string{"State:      Running"}, not: "Why:", stderr: unseen},
		"a label":           {arguments: "explain -n mine -l app=x", out: []string{"Job/other"}, not: "Job/first", stderr: unseen},
		"a label of pods":   {arguments: "explain -n mine -l app=y", out: []string{"Job/first"}, not: "Job/other", stderr: unseen},
		"no such job":       {arguments: "explain -n mine job secund", stderr: `no job "secund" in the input; did you mean "second"?`, code: 2},
		"no pods":           {arguments: "explain -n mine job first", denied: []string{"pods"}, out: []string{"1/1 tasks in gang unschedulable"}, stderr: "no permission to list pods in namespace mine"},
		"no events":         {arguments: "explain -n mine job second", denied: []string{"events"}, out: []string{"Why:"}, not: "Events:", stderr: "no permission to list events in namespace mine"},
		"no PodGroups":      {arguments: "explain -n mine", denied: []string{"podgroups"}, stderr: "no permission to list podgroups.scheduling.volcano.sh in namespace mine of", code: 2},
		"another namespace": {arguments: "explain -n theirs", stderr: "no permission to list podgroups.scheduling.volcano.sh in namespace theirs of", code: 2},
		"all namespaces":    {arguments: "explain", stderr: "note: if you may list the objects of one namespace, name it: cardctl explain -n NAMESPACE\nerror: no permission to list nodes in all namespaces of", code: 2},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(team{test.denied})
			defer server.Close()
			code, out, stderr := run("", append(strings.Fields(test.arguments), "--server", server.URL)...)
			assert.Equal(t, test.code, code, stderr)
			for _, text := range test.out {
				assert.Contains(t, out, text)
			}
			if test.not != "" {
				assert.NotContains(t, out, test.not)
			}
			assert.Contains(t, stderr, test.stderr)
		})
	}
}

// TestExplainOneNamespaceAsJSON expects a field that names the permission for the objects that are not seen.
func TestExplainOneNamespaceAsJSON(t *testing.T) {
	server := httptest.NewServer(team{})
	defer server.Close()
	code, out, stderr := run("", "explain", "-n", "mine", "job", "second", "-o", "json", "--server", server.URL)
	require.Zero(t, code, stderr)
	var document struct {
		Kind    string
		Items   []map[string]any
		Unknown []string
	}
	require.NoError(t, json.Unmarshal([]byte(out), &document))
	require.Len(t, document.Items, 1)
	assert.Equal(t, "Job/second", document.Items[0]["owner"])
	require.Len(t, document.Unknown, 1)
	assert.Contains(t, document.Unknown[0], input.ViewerRole)
}
