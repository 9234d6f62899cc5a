package input

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// watched is an API server with lists that can be watched. It has one node, one pod and one queue.
type watched struct {
	mu     sync.Mutex
	away   bool
	refuse map[string]int // the status of paths with a word
	events chan string    // of pods
	closed chan struct{}  // ends the watches that are open
}

func (s *watched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	away, closed, status := s.away, s.closed, 0
	for word, code := range s.refuse {
		if strings.Contains(r.URL.Path, word) {
			status = code
		}
	}
	s.mu.Unlock()
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/'):]
	if name == "/events" {
		name = r.URL.Path[strings.Index(r.URL.Path, "/v1/")+len("/v1"):] + "?" + r.URL.Query().Get("fieldSelector")
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case away:
		panic(http.ErrAbortHandler)
	case status > 0:
		w.WriteHeader(status)
	case strings.Contains(r.URL.Path, "/resource.k8s.io/"):
		w.WriteHeader(http.StatusNotFound) // the release does not know the kind
	case r.URL.Query().Has("sendInitialEvents"):
		w.WriteHeader(http.StatusBadRequest)
	case r.URL.Query().Get("watch") != "":
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		events := s.events
		if name != "/pods" {
			events = nil
		}
		for {
			select {
			case <-r.Context().Done():
				return
			case <-closed:
				return
			case event := <-events:
				_, _ = io.WriteString(w, event)
				w.(http.Flusher).Flush()
			}
		}
	default:
		_, _ = io.WriteString(w, map[string]string{
			"/nodes":           `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"n"}}]}`,
			"/pods":            `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"p","namespace":"team"}}]}`,
			"/queues":          `{"kind":"QueueList","apiVersion":"scheduling.volcano.sh/v1beta1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"q"}}]}`,
			"/podgroups":       `{"kind":"PodGroupList","apiVersion":"scheduling.volcano.sh/v1beta1","metadata":{"resourceVersion":"1"},"items":[]}`,
			"/jobs":            `{"kind":"JobList","apiVersion":"batch.volcano.sh/v1alpha1","metadata":{"resourceVersion":"1"},"items":[]}`,
			"/priorityclasses": `{"kind":"PriorityClassList","apiVersion":"scheduling.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[]}`,
			"/deployments":     `{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"1"},"items":[` + scheduler + `,{"metadata":{"name":"web","namespace":"team"}}]}`,
			"/events?involvedObject.kind=Pod,reason=Evict": `{"kind":"EventList","apiVersion":"v1","items":[` +
				`{"involvedObject":{"kind":"Pod","namespace":"team","name":"old","uid":"1"},"message":"Pod is evicted, because of reclaim","lastTimestamp":"2025-12-31T23:00:00Z"},` +
				`{"involvedObject":{"kind":"Pod","namespace":"team","name":"p","uid":"2"},"message":"Pod is evicted, because of preempt","eventTime":"2025-12-31T23:30:00.000000Z"}]}`,
			"/namespaces/team/events?involvedObject.kind=Pod,reason=Scheduled": `{"kind":"EventList","apiVersion":"v1","items":[` +
				`{"involvedObject":{"kind":"Pod","namespace":"team","name":"old","uid":"1"},"message":"Successfully assigned team/old to n"},` +
				`{"involvedObject":{"kind":"Pod","namespace":"team","name":"old","uid":"0"},"message":"Successfully assigned team/old to other"}]}`,
			"/own-conf": `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"own-conf","namespace":"batch"},"data":{"my.conf":"tiers: []"}}`,
		}[name])
	}
}

// set makes the server go away or come back.
func (s *watched) set(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away = away; away {
		close(s.closed)
		s.closed = make(chan struct{})
	}
}

func newWatched(t *testing.T, refuse map[string]int) (*watched, *Live) {
	t.Helper()
	s := &watched{refuse: refuse, events: make(chan string), closed: make(chan struct{})}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(func() { s.set(true) })
	live, err := Follow(t.Context(), &rest.Config{Host: server.URL}, true)
	require.NoError(t, err)
	return s, live
}

const evictedPod = `{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"team","uid":"2","resourceVersion":"2",
	"annotations":{"scheduling.k8s.io/group-name":"g","volcano.sh/card.name":"A"}},"spec":{"nodeName":"n"},"status":{"conditions":[
	{"type":"Ready","status":"False","reason":"Evict","message":"Pod is evicted, because of reclaim","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}}`

// TestFollow follows a cluster through an eviction, and through a time in which the API
// server is away.
func TestFollow(t *testing.T) {
	server, live := newWatched(t, nil)
	o, err := live.Objects(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 4, o.Len(), "the Deployment web is not the scheduler's")
	assert.Empty(t, o.Warnings)
	found, _, err := o.Configuration()
	require.NoError(t, err)
	assert.Equal(t, "tiers: []", found.Text)

	server.events <- evictedPod
	past, lacks := live.Evicted()
	for len(past) == 0 {
		<-live.Changed()
		past, lacks = live.Evicted()
	}
	assert.Empty(t, lacks)
	e := past[0]
	assert.Equal(t, []string{"team", "p", "g", "n", "A", "Pod is evicted, because of reclaim"}, []string{e.Namespace, e.Pod, e.PodGroup, e.Node, e.Card, e.Why})

	server.set(true)
	for err == nil {
		<-live.Changed()
		o, err = live.Objects(t.Context())
	}
	require.ErrorContains(t, err, "cannot be reached")
	assert.Equal(t, 4, o.Len(), "what was read before")
	found, _, _ = o.Configuration()
	assert.NotNil(t, found)

	server.set(false)
	for err != nil {
		<-live.Changed()
		_, err = live.Objects(t.Context())
	}
}

// TestReadPast reads evictions from events. The data of a pod itself replaces the data of its event.
func TestReadPast(t *testing.T) {
	server, live := newWatched(t, nil)
	live.ReadPast(t.Context())
	past, lacks := live.Evicted()
	require.Len(t, past, 2)
	assert.Empty(t, lacks)
	assert.Equal(t, Evicted{Time: past[1].Time, Namespace: "team", Pod: "old", Node: "n", Why: "Pod is evicted, because of reclaim", FromEvent: true, uid: "1"}, past[1])
	assert.Equal(t, "2025-12-31 23:00:00", past[1].Time.UTC().Format(time.DateTime))
	assert.Equal(t, []any{"p", "", true}, []any{past[0].Pod, past[0].Node, past[0].FromEvent}, "it was placed more than an hour ago")

	server.events <- evictedPod
	for past[0].FromEvent {
		<-live.Changed()
		past, _ = live.Evicted()
	}
	require.Len(t, past, 2)
	assert.Equal(t, "g", past[0].PodGroup)
	live.ReadPast(t.Context())
	again, _ := live.Evicted()
	assert.Equal(t, past, again)

	_, live = newWatched(t, map[string]int{"/events": http.StatusForbidden})
	live.ReadPast(t.Context())
	past, lacks = live.Evicted()
	assert.Empty(t, past)
	assert.Contains(t, lacks, "no permission to list events")
}

// TestLostConnections expects the error of a call on a connection that is closed. client-go alone would repeat the call
// until its time is over.
func TestLostConnections(t *testing.T) {
	server, live := newWatched(t, nil)
	_, err := live.Objects(t.Context())
	require.NoError(t, err)
	server.set(true)
	_, _, err = live.Leader(t.Context())
	require.ErrorContains(t, err, "cannot be reached: the connection was closed")
}

// TestFollowWithoutPermission shows the other kinds, and a line for the one that is missing.
func TestFollowWithoutPermission(t *testing.T) {
	_, live := newWatched(t, map[string]int{"/pods": http.StatusForbidden, "/jobs": http.StatusNotFound, "/own-conf": http.StatusForbidden})
	o, err := live.Objects(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3, o.Len())
	require.Len(t, o.Warnings, 3)
	assert.Equal(t, []string{"pods", "jobs.batch.volcano.sh"}, o.Unread)
	for i, want := range []string{"no permission to list pods", "has no jobs.batch.volcano.sh: is Volcano installed?", "no permission to get the ConfigMap batch/own-conf"} {
		assert.Contains(t, o.Warnings[i], want)
	}
}

// TestFollowNothing has an error, and no objects, for a cluster that never answered.
func TestFollowNothing(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	live, err := Follow(t.Context(), &rest.Config{Host: closed.URL}, true)
	require.NoError(t, err)
	o, err := live.Objects(t.Context())
	require.ErrorContains(t, err, "cannot be reached")
	assert.Nil(t, o)
}

// TestFollowWithoutRights names the objects that the user may not list, and the role that permits it.
func TestFollowWithoutRights(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"is forbidden: User cannot list"}`))
	}))
	defer server.Close()
	l, err := Follow(t.Context(), &rest.Config{Host: server.URL}, true)
	require.NoError(t, err)
	_, err = l.Objects(t.Context())
	require.Error(t, err)
	assert.Contains(t, err.Error(), "no permission to list any of nodes, pods, queues.scheduling.volcano.sh, podgroups.scheduling.volcano.sh, jobs.batch.volcano.sh")
	assert.Contains(t, err.Error(), "in all namespaces of "+server.URL+": the ClusterRole capacity-card-viewer (deploy/cardctl) has it")
}
