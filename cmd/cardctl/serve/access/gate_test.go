package access

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/capacity-card/capacity-card/cmd/cardctl/serve"
)

// site is a gate in front of a page. The page shows the permissions of the viewer.
type site struct {
	handler http.Handler
	gate    *Gate
	api     *apiServer

	mu  sync.Mutex
	log []string
}

// newSite returns a site with a gate that keeps answers for cacheTime.
func newSite(t *testing.T, cacheTime time.Duration) *site {
	return newSiteAt(t, cacheTime, clock.RealClock{})
}

func newSiteAt(t *testing.T, cacheTime time.Duration, c clock.WithTicker) *site {
	api, config := newAPIServer(t)
	s := &site{api: api}
	gate, err := newGate(config, cacheTime, c, func(format string, arguments ...any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.log = append(s.log, fmt.Sprintf(format, arguments...))
	})
	require.NoError(t, err)
	s.gate = gate
	s.handler = gate.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := serve.ViewerOf(r.Context())
		fmt.Fprintf(w, "%s queues=%t anns=%t bens=%t nodes=%t", v.Name(), v.Queues(r.Context()),
			v.Namespace(r.Context(), "anns"), v.Namespace(r.Context(), "bens"), v.Nodes(r.Context()))
	}))
	return s
}

// lines collects the log of the server.
func (s *site) lines() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.log, "\n")
}

// send sends a request with pairs of names and values as headers.
func (s *site) send(method, path, body string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w.Result()
}

func (s *site) get(headers ...string) *http.Response {
	return s.send(http.MethodGet, "/queues?q=a", "", headers...)
}

func textOf(t *testing.T, r *http.Response) string {
	t.Helper()
	var text strings.Builder
	_, err := fmt.Fprint(&text, r.Status, " ")
	require.NoError(t, err)
	require.NoError(t, r.Write(&text))
	return text.String()
}

// bearer is the header with the token of a user.
func bearer(user string) []string { return []string{"Authorization", "Bearer " + user + "-token"} }

// inCookie is the header with a cookie.
func inCookie(token string) []string { return []string{"Cookie", cookieName + "=" + token} }

const asBrowser = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"

// TestAccess sends requests of users with different permissions.
func TestAccess(t *testing.T) {
	for name, c := range map[string]struct {
		headers []string
		status  int
		want    string
	}{
		"everything":            {bearer("ann"), http.StatusOK, "ann queues=true anns=true bens=true nodes=true"},
		"one namespace":         {bearer("ben"), http.StatusOK, "ben queues=true anns=false bens=true nodes=false"},
		"no queues":             {bearer("cleo"), http.StatusOK, "cleo queues=false anns=false bens=false nodes=false"},
		"another case":          {[]string{"Authorization", "bearer ben-token"}, http.StatusOK, "ben "},
		"a cookie":              {inCookie("ben-token"), http.StatusOK, "ben "},
		"header before cookie":  {append(inCookie("ben-token"), bearer("ann")...), http.StatusOK, "ann "},
		"no token":              {nil, http.StatusUnauthorized, "Send a token of the cluster"},
		"an invalid token":      {bearer("dora"), http.StatusUnauthorized, "Send a token of the cluster"},
		"an invalid cookie":     {inCookie("dora-token"), http.StatusUnauthorized, "Send a token of the cluster"},
		"a password":            {[]string{"Authorization", "Basic YW5uOmFubg=="}, http.StatusUnauthorized, "Send a token of the cluster"},
		"a browser":             {[]string{"Accept", asBrowser}, http.StatusSeeOther, "Location: /login?next=%2Fqueues%3Fq%3Da"},
		"a browser in between":  {append(inCookie("dora-token"), "Accept", asBrowser), http.StatusSeeOther, "Location: /login?next=%2Fqueues%3Fq%3Da"},
		"a request for a part":  {append(bearer("dora"), "Accept", "*/*", "HX-Request", "true"), http.StatusUnauthorized, "Www-Authenticate: Bearer"},
		"a page that is open":   {append(bearer("dora"), "Accept", "*/*", "HX-Request", "true"), http.StatusUnauthorized, "Hx-Redirect: /login?next=%2Fqueues%3Fq%3Da"},
		"the header of a proxy": {[]string{"X-Remote-User", "ann"}, http.StatusUnauthorized, ""},
	} {
		t.Run(name, func(t *testing.T) {
			response := newSite(t, time.Hour).get(c.headers...)
			assert.Equal(t, c.status, response.StatusCode)
			text := textOf(t, response)
			assert.Contains(t, text, c.want)
			if c.status != http.StatusOK {
				assert.NotContains(t, text, "queues=")
			}
		})
	}
}

// TestOutage expects no access, and a line for the viewer and for the operator, while the API server does not answer.
func TestOutage(t *testing.T) {
	s := newSite(t, time.Hour)
	require.Equal(t, http.StatusOK, s.get(bearer("ben")...).StatusCode)
	s.api.change(func() { s.api.down = http.StatusInternalServerError })
	response := s.get(append(bearer("ann"), "Accept", asBrowser)...)
	assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	assert.NotEmpty(t, response.Header.Get("Retry-After"))
	assert.Contains(t, textOf(t, response), "cannot check")
	assert.Equal(t, http.StatusServiceUnavailable, s.get(bearer("cleo")...).StatusCode)
	assert.Regexp(t, "^error: the token of a viewer could not be reviewed: .*$", s.lines(), "one line for all")
	assert.Equal(t, http.StatusOK, s.get(bearer("ben")...).StatusCode, "the answers of the last minute count")
	s.api.change(func() { s.api.down = 0 })
	assert.Equal(t, http.StatusOK, s.get(bearer("ann")...).StatusCode)
}

// TestOutageOfAccess expects no access while tokens are reviewed and permissions are not.
func TestOutageOfAccess(t *testing.T) {
	s := newSite(t, time.Hour)
	s.api.change(func() { s.api.down, s.api.broken = http.StatusInternalServerError, "subjectaccessreviews" })
	response := s.get(bearer("ann")...)
	assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	assert.Contains(t, s.lines(), `error: the access of "ann" could not be reviewed: `)
}

// TestRevoked expects revoked permissions and tokens to be gone when the kept answers no longer count.
func TestRevoked(t *testing.T) {
	s := newSite(t, time.Millisecond)
	sees := func(want string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(textOf(t, s.get(bearer("ann")...)), want) }, time.Minute, time.Millisecond)
	}
	sees("anns=true")
	s.api.change(func() { delete(s.api.may, "ann pods. ") })
	sees("queues=true anns=false")
	s.api.change(func() { delete(s.api.may, "ann queues.scheduling.volcano.sh ") })
	sees("queues=false anns=false")
	s.api.change(func() { delete(s.api.users, "ann-token") })
	sees("401 Unauthorized")
}

// TestLogin logs in with the form, and out.
func TestLogin(t *testing.T) {
	s := newSite(t, time.Hour)
	form := s.send(http.MethodGet, "/login?next=%2Fwaiting", "")
	assert.Equal(t, http.StatusOK, form.StatusCode)
	assert.Contains(t, textOf(t, form), `name="next" value="/waiting"`)

	response := s.send(http.MethodPost, "/login", url.Values{"token": {" ben-token\n"}, "next": {"/waiting?a=b"}}.Encode())
	assert.Equal(t, http.StatusSeeOther, response.StatusCode)
	assert.Equal(t, "/waiting?a=b", response.Header.Get("Location"))
	assert.Equal(t, cookieName+"=ben-token; Path=/; HttpOnly; Secure; SameSite=Strict", response.Header.Get("Set-Cookie"))

	response = s.send(http.MethodPost, "/logout", "")
	assert.Equal(t, http.StatusSeeOther, response.StatusCode)
	assert.Equal(t, cookieName+"=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Strict", response.Header.Get("Set-Cookie"))
}

// TestLoginRefused expects no cookie and a reason.
func TestLoginRefused(t *testing.T) {
	for name, c := range map[string]struct {
		token  string
		status int
		want   string
	}{
		"an invalid token": {"dora-token", http.StatusUnauthorized, "not valid"},
		"none":             {"", http.StatusUnauthorized, "not valid"},
		"lines":            {"a\r\nSet-Cookie: b", http.StatusUnauthorized, "not valid"},
		"a long token":     {strings.Repeat("a", mostToken+1), http.StatusRequestEntityTooLarge, "too long"},
		"a long body":      {strings.Repeat("a", mostForm), http.StatusRequestEntityTooLarge, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, time.Hour)
			response := s.send(http.MethodPost, "/login", url.Values{"token": {c.token}}.Encode())
			assert.Equal(t, c.status, response.StatusCode)
			assert.Empty(t, response.Header.Get("Set-Cookie"))
			text := textOf(t, response)
			assert.Contains(t, text, c.want)
			assert.NotContains(t, text, "dora-token", "a page does not repeat a token")
		})
	}
	s := newSite(t, time.Hour)
	s.api.change(func() { s.api.down = http.StatusInternalServerError })
	response := s.send(http.MethodPost, "/login", "token=ann-token")
	assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	assert.Empty(t, response.Header.Get("Set-Cookie"))
}

// TestLoginStaysHere expects the login to lead to a page of this server.
func TestLoginStaysHere(t *testing.T) {
	s := newSite(t, time.Hour)
	for next, want := range map[string]string{
		"":                           "/",
		"/queues?q=%26":              "/queues?q=%26",
		"https://example.com/queues": "/queues",
		"//example.com/queues":       "/queues",
		"///example.com":             "/example.com",
		`/\example.com`:              "/example.com",
		"javascript:alert(1)":        "/",
		"/queues\r\nSet-Cookie: a=b": "/",
		"/%2Fexample.com":            "/example.com",
		"/%5Cexample.com":            "/example.com",
		"/.//example.com":            "/example.com",
	} {
		response := s.send(http.MethodPost, "/login", url.Values{"token": {"ann-token"}, "next": {next}}.Encode())
		assert.Equal(t, want, response.Header.Get("Location"), next)
	}
}

// TestOtherSites expects pages of other sites to log nobody in or out.
func TestOtherSites(t *testing.T) {
	s := newSite(t, time.Hour)
	gate := s.handler
	s.handler = serve.New(serve.Options{Access: func(http.Handler) http.Handler { return gate }}).Handler()
	for _, path := range []string{"/login", "/logout", "/whatif"} {
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://example.org"}} {
			response := s.send(http.MethodPost, path, "token=ann-token", append(headers, bearer("ann")...)...)
			assert.Equal(t, http.StatusForbidden, response.StatusCode, "%s %v", path, headers)
			assert.Empty(t, response.Header.Get("Set-Cookie"))
		}
	}
}

// TestLinkFromAnotherSite expects a browser, which does not send the cookie with the first
// request after a link, to be led back once, and then to the form.
func TestLinkFromAnotherSite(t *testing.T) {
	s := newSite(t, time.Hour)
	const login = "/login?next=%2Fjob%2Fa%2Fb%3Flang%3Dzh"
	assert.Equal(t, "0; url=/job/a/b?lang=zh", s.send(http.MethodGet, login, "", "Sec-Fetch-Site", "cross-site").Header.Get("Refresh"))
	assert.Empty(t, s.send(http.MethodGet, login, "", "Sec-Fetch-Site", "same-origin").Header.Get("Refresh"))
}
