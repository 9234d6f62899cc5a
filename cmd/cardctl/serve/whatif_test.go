package serve

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
	"github.com/capacity-card/capacity-card/cmd/cardctl/whatif"
)

// TestEmptyForm simulates nothing for a form without a change.
func TestEmptyForm(t *testing.T) {
	server := newServer(t, newSource(t, examples), nil)
	for range mostTrials {
		server.trials.running <- struct{}{} // a simulation would be refused
	}
	h := server.Handler()
	for name, form := range map[string]url.Values{"nothing": {}, "lines": {"set": {"\n \n"}, "remove": {"\n"}, "add": {" \n\t"}}} {
		w := post(h, "/whatif", form)
		assert.Equal(t, http.StatusOK, w.Code, name)
		assert.Contains(t, w.Body.String(), errEmpty.Error(), name)
		w = post(h, "/whatif.json", form)
		assert.Equal(t, http.StatusBadRequest, w.Code, name)
		assert.Contains(t, w.Body.String(), errEmpty.Error(), name)
	}
}

// TestSimulationsEndInTime answers while a simulation waits for a session that does not end, and lets the
// next simulations begin.
func TestSimulationsEndInTime(t *testing.T) {
	s := newSource(t, examples)
	server := newServer(t, s, nil)
	server.trials.time = time.Millisecond
	model := server.keeper.now().model
	world, err := engine.Build(model.Objects.Clone())
	require.NoError(t, err)
	session, err := engine.Open(t.Context(), world, model.Configuration)
	require.NoError(t, err)
	form := url.Values{"set": {"queue/research:cards.NVIDIA-H200=7"}}
	for range 2 * mostTrials {
		w := post(server.Handler(), "/whatif", form)
		assert.Equal(t, http.StatusOK, w.Code)
		assert.Contains(t, w.Body.String(), "it takes longer than 1ms here")
		assert.Contains(t, w.Body.String(), "queue/research:cards.NVIDIA-H200=7</textarea>", "the form stays")
		server.trials.await()
	}
	w := post(server.Handler(), "/whatif.json", form)
	assert.Equal(t, http.StatusBadRequest, w.Code)
	assert.Contains(t, w.Body.String(), "it takes longer than 1ms here")
	server.trials.await()
	session.Close()
}

// await returns when no simulation runs.
func (t *trials) await() {
	for range mostTrials {
		t.running <- struct{}{}
	}
	for range mostTrials {
		<-t.running
	}
}

// TestSimulationThatGoesOn answers when the time of a simulation is over that does not look at its
// context, and counts it until it ends.
func TestSimulationThatGoesOn(t *testing.T) {
	runs, ctx := newTrials(t.Logf), t.Context()
	runs.time = time.Millisecond
	goOn := make(chan struct{})
	never := func(context.Context) (*whatif.Trial, error) {
		<-goOn
		return nil, nil
	}
	for range mostTrials {
		_, err := runs.run(ctx, never)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	_, err := runs.run(ctx, never)
	require.ErrorIs(t, err, errBusy)
	close(goOn)
	runs.await()

	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = runs.run(gone, func(ctx context.Context) (*whatif.Trial, error) { return nil, ctx.Err() })
	require.ErrorIs(t, err, context.Canceled)
}

// TestSimulationThatPanics answers, writes the cause to the log, and lets the next one begin. The page of a job has no
// remedy then.
func TestSimulationThatPanics(t *testing.T) {
	s := newSource(t, examples)
	log := &bytes.Buffer{}
	server := New(Options{Source: s, Log: func(format string, arguments ...any) { fmt.Fprintf(log, format+"\n", arguments...) }})
	server.keeper.read(t.Context(), true)
	server.keeper.state.model.Objects.Queues = append(server.keeper.state.model.Objects.Queues, nil)
	for range 2 * mostTrials {
		w := post(server.Handler(), "/whatif", url.Values{"set": {"queue/research:weight=7"}})
		assert.Equal(t, http.StatusInternalServerError, w.Code)
		assert.Contains(t, w.Body.String(), errBroken.Error())
		assert.NotContains(t, w.Body.String(), "goroutine")
	}
	assert.Contains(t, log.String(), "interface is nil")
	assert.Contains(t, log.String(), "whatif.Try")
	assert.Equal(t, 2*mostTrials, strings.Count(log.String(), "error: a simulation crashed: "))

	log.Reset()
	assert.Equal(t, http.StatusOK, get(server.Handler(), "/job/default/llm/json").Code)
	assert.Contains(t, log.String(), "error: a simulation crashed: ")
	assert.Contains(t, log.String(), "withRemedy")
}

// TestLargeAnswers have the first rows of each table on the page, and all in the JSON.
func TestLargeAnswers(t *testing.T) {
	h := newServer(t, newSource(t, examples), nil).Handler()
	const queues, jobs = 350, 320
	form := url.Values{"add": {listOf("Queue", each(queues, "- metadata: {name: many-%d, annotations: {volcano.sh/card.quota: '{\"X\": 1}'}}\n")) +
		each(jobs, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: pod-%d, annotations: {scheduling.volcano.sh/queue-name: many-0}}\n"+
			"spec: {schedulerName: volcano, containers: [{name: c, image: i}]}\n")}}
	body := post(h, "/whatif", form).Body.String()
	assert.Equal(t, mostRows, strings.Count(body, `<th scope="row">many-`))
	assert.Contains(t, body, "and 50 more", "queues")
	assert.Equal(t, mostRows, strings.Count(body, `<th scope="row">default/pod-`))
	assert.Contains(t, body, "and 20 more", "jobs")
	body = post(h, "/whatif.json", form).Body.String()
	assert.Contains(t, body, "many-349")
	assert.Contains(t, body, "pod-319")
}

// TestTrialNotes says that the scheduler evicts pods without the change as well, and that it does not come to an end.
func TestTrialNotes(t *testing.T) {
	evicts := &whatif.Outcome{Settled: true, Stock: &stock.Stock{}, Events: []engine.Event{{Kind: engine.Evicted}}}
	goesOn := &whatif.Outcome{Stock: &stock.Stock{}}
	for name, test := range map[string]struct {
		before, after *whatif.Outcome
		want          []string
	}{
		"without the change": {evicts, evicts, []string{"Before: the next cycles evict pods, also without the changes."}},
		"with the change":    {&whatif.Outcome{Settled: true, Stock: &stock.Stock{}}, evicts, nil},
		"goes on": {evicts, goesOn, []string{
			"Before: the next cycles evict pods, also without the changes.",
			"After: the cluster does not settle: pods keep evicting each other. The page shows the last cycle.",
		}},
	} {
		result := resultOf(&whatif.Trial{Comparison: whatif.Compare(test.before, test.after)}, nil, nil)
		assert.Equal(t, test.want, result.Notes, name)
	}
}
