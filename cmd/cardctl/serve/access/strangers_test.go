package access

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktest "k8s.io/utils/clock/testing"

	"github.com/capacity-card/capacity-card/cmd/cardctl/serve"
)

// from sends a request with a token from an address.
func (s *site) from(address, token string) int {
	r := httptest.NewRequest(http.MethodGet, "/queues", nil)
	r.RemoteAddr = address + ":4711"
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w.Code
}

// TestNobodyWaitsBehindStrangers has 1,500 requests with unknown tokens. The API server does not answer the reviews of
// these tokens. Users are reviewed meanwhile, including a user who comes for the first time.
func TestNobodyWaitsBehindStrangers(t *testing.T) {
	const requests = 1500
	s := newSiteAt(t, 0, clocktest.NewFakeClock(time.Unix(1, 0))) // each request is reviewed
	require.Equal(t, http.StatusOK, s.from("10.0.0.1", "ann-token"))
	reviewed, goOn := make(chan string), make(chan struct{})
	s.api.change(func() {
		s.api.before = func(token string) {
			if strings.HasPrefix(token, "guess") {
				reviewed <- token
				<-goOn
			}
		}
	})
	answers := make(chan int)
	for i := range requests {
		go func() { answers <- s.from("10.0.0.9", fmt.Sprint("guess-", i)) }()
	}
	for range addressBurst {
		<-reviewed
	}
	for range requests - addressBurst {
		require.Equal(t, http.StatusTooManyRequests, <-answers, "at once: nobody waits")
	}
	assert.Equal(t, http.StatusOK, s.from("10.0.0.9", "ann-token"), "who is known, from the same address")
	assert.Equal(t, http.StatusOK, s.from("10.0.0.2", "ben-token"), "who is not known yet")
	select {
	case <-reviewed:
		assert.Fail(t, "another review of an unknown token")
	default:
	}
	close(goOn)
	for range addressBurst {
		assert.Equal(t, http.StatusUnauthorized, <-answers)
	}
	lines := s.lines()
	assert.Equal(t, 1, strings.Count(lines, "\n")+1, lines)
	assert.Contains(t, lines, "from 10.0.0.9")
	assert.NotContains(t, lines, "guess")
}

// TestStrangersAreLimited refuses unknown tokens that are too many, by address and in all, with a
// page for browsers.
func TestStrangersAreLimited(t *testing.T) {
	c := clocktest.NewFakeClock(time.Unix(1, 0))
	s := newSiteAt(t, time.Hour, c)
	count := func(address string) (reviewed int) {
		for {
			switch s.from(address, fmt.Sprint("guess-", address, reviewed, c.Now())) {
			case http.StatusUnauthorized:
				reviewed++
			case http.StatusTooManyRequests:
				return reviewed
			}
		}
	}
	assert.Equal(t, addressBurst, count("10.0.0.1"))
	assert.Equal(t, strangersBurst-addressBurst, count("10.0.0.2"))
	assert.Zero(t, count("10.0.0.3"))
	c.Step(time.Second)
	assert.Equal(t, addressQPS, count("10.0.0.1"))
	assert.Equal(t, strangersQPS-addressQPS, count("10.0.0.3"))

	r := s.send(http.MethodGet, "/queues", "", "Authorization", "Bearer guess", "Accept", asBrowser)
	assert.Equal(t, http.StatusTooManyRequests, r.StatusCode)
	assert.NotEmpty(t, r.Header.Get("Retry-After"))
	assert.Contains(t, textOf(t, r), messageStrangers)
	r = s.send(http.MethodPost, "/login", "token=guess")
	assert.Equal(t, http.StatusTooManyRequests, r.StatusCode)
	assert.Empty(t, r.Header.Get("Set-Cookie"))
}

// TestTheSameInvalidToken is reviewed once, and leaves room for others.
func TestTheSameInvalidToken(t *testing.T) {
	s := newSiteAt(t, time.Hour, clocktest.NewFakeClock(time.Unix(1, 0)))
	for range 2 * strangersBurst {
		require.Equal(t, http.StatusUnauthorized, s.from("10.0.0.1", "expired"))
	}
	assert.Equal(t, 1, s.api.requests())
	assert.Equal(t, http.StatusOK, s.from("10.0.0.1", "ann-token"))
}

// TestStrangersLog writes a line with the number of requests, and the next one after a while.
func TestStrangersLog(t *testing.T) {
	c := clocktest.NewFakeClock(time.Unix(1, 0))
	var lines []string
	l := &strangersLog{clock: c, log: func(format string, arguments ...any) { lines = append(lines, fmt.Sprintf(format, arguments...)) }}
	for range 3 {
		l.add("10.0.0.1", true)
	}
	l.add("10.0.0.2", false)
	c.Step(reportTime)
	l.add("10.0.0.3", false)
	const of = "warning: requests with tokens that are not known: %d, of which %d were refused without a review, because they were too many; the last one is from %s"
	assert.Equal(t, []string{fmt.Sprintf(of, 1, 0, "10.0.0.1"), fmt.Sprintf(of, 4, 2, "10.0.0.3")}, lines)
}

// TestStreamsEnd ends a stream of events when the token is not valid any more, or cannot be reviewed, and
// not before. The last event has the page load itself again.
func TestStreamsEnd(t *testing.T) {
	for name, revoke := range map[string]func(*apiServer){
		"revoked": func(a *apiServer) { delete(a.users, "cleo-token") },
		"outage":  func(a *apiServer) { a.down = http.StatusInternalServerError },
	} {
		c := clocktest.NewFakeClock(time.Unix(1, 0))
		s := newSiteAt(t, 0, c) // each question is a review
		web := httptest.NewServer(serve.New(serve.Options{Access: s.gate.Protect, Log: t.Logf}).Handler())
		defer web.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL+"/events?after=0", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer cleo-token")
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		lines := bufio.NewScanner(answer.Body)
		require.True(t, lines.Scan())
		require.Equal(t, "retry: 2000", lines.Text(), name)

		again := make(chan string)
		s.api.change(func() { s.api.before = func(token string) { again <- token } })
		for range 3 {
			c.Step(CacheTime)
			require.Equal(t, "cleo-token", <-again, "a review, after which the stream goes on")
		}
		s.api.change(func() {
			s.api.before = nil
			revoke(s.api)
		})
		c.Step(CacheTime)
		var rest []string
		for lines.Scan() {
			rest = append(rest, lines.Text())
		}
		require.NoError(t, lines.Err(), "the server ends the stream")
		assert.Equal(t, []string{"", "event: reading", "id: 0", "data: 0", ""}, rest, name)
	}
}
