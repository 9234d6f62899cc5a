package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/capacity-card/capacity-card/cmd/cardctl/serve"
)

// Log writes a line for the operator of the server.
type Log func(format string, arguments ...any)

// Gate admits the users who may see the pages.
type Gate struct {
	reviews *reviews
	log     Log
	clock   clock.WithTicker

	mu       sync.Mutex
	reported time.Time // when report wrote its last line
}

// reportTime is the least time between two lines about an outage, which all viewers see.
const reportTime = 10 * time.Second

// report writes a line about a review that failed, unless it has just written one.
func (g *Gate) report(format string, arguments ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.reported) < reportTime {
		return
	}

	g.reported = time.Now()
	g.log(format, arguments...)
}

// New returns a gate that asks the API server of a cluster.
func New(config *rest.Config, log Log) (*Gate, error) {
	return newGate(config, CacheTime, clock.RealClock{}, log)
}

func newGate(config *rest.Config, cacheTime time.Duration, c clock.WithTicker, log Log) (*Gate, error) {
	reviews, err := newReviews(config, cacheTime, c, log)
	return &Gate{reviews: reviews, log: log, clock: c}, err
}

// Protect serves the login page, and answers all other requests by next if they have a valid
// token. next finds the viewer in the context.
func (g *Gate) Protect(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+loginPath, g.showLogin)
	mux.HandleFunc("POST "+loginPath, g.logIn)
	mux.HandleFunc("POST "+logoutPath, g.logOut)

	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if v := g.admit(w, r); v != nil {
			ctx, end := g.whileValid(r)
			defer end()
			next.ServeHTTP(w, r.WithContext(serve.WithViewer(ctx, v)))
		}
	})
	return mux
}

// whileValid returns the context of a request. It ends when the token of the request becomes invalid,
// or cannot be reviewed. A stream of events lasts for hours; other requests end before the first
// review.
func (g *Gate) whileValid(r *http.Request) (context.Context, func()) {
	ctx, end := context.WithCancelCause(r.Context())
	ticker := g.clock.NewTicker(CacheTime)

	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C():
			}

			if who, _ := g.reviews.user(ctx, tokenOf(r), serve.AddressOf(r)); who == nil {
				end(serve.ErrNoAccess)
				return
			}
		}
	}()

	return ctx, func() { end(nil) }
}

// admit returns the user of a request. Without a user to admit it answers the request, and
// returns nil.
func (g *Gate) admit(w http.ResponseWriter, r *http.Request) *viewer {
	token := tokenOf(r)
	if token == "" {
		g.askToken(w, r)
		return nil
	}

	who, err := g.reviews.user(r.Context(), token, serve.AddressOf(r))

	switch {
	case errors.Is(err, errStrangers):
		g.later(w, r, http.StatusTooManyRequests, messageStrangers)
		return nil
	case err != nil:
		g.unavailable(w, r, "the token of a viewer could not be reviewed", err)
		return nil
	case who == nil:
		g.askToken(w, r)
		return nil
	}

	v := &viewer{gate: g, who: who}

	for _, list := range []struct {
		may             *bool
		group, resource string
	}{{&v.queues, "scheduling.volcano.sh", "queues"}, {&v.nodes, "", "nodes"}, {&v.pods, "", "pods"}} {
		*list.may, err = g.reviews.mayList(r.Context(), who, list.group, list.resource, "")
		if err != nil {
			g.unavailable(w, r, fmt.Sprintf("the access of %q could not be reviewed", who.GetName()), err)
			return nil
		}
	}
	return v
}

// askToken answers a request without a valid token: a browser goes to the login page.
func (g *Gate) askToken(w http.ResponseWriter, r *http.Request) {
	login := loginPath + "?" + url.Values{"next": {r.URL.RequestURI()}}.Encode()
	if wantsPage(r) {
		http.Redirect(w, r, login, http.StatusSeeOther)
		return
	}

	// The token of an open page is not valid any more.
	if r.Header.Get("HX-Request") != "" {
		w.Header().Set("HX-Redirect", login)
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	http.Error(w, messageToken, http.StatusUnauthorized)
}

// unavailable answers a request that cannot be reviewed.
func (g *Gate) unavailable(w http.ResponseWriter, r *http.Request, what string, err error) {
	if r.Context().Err() != nil {
		return // the client is gone
	}
	g.report("error: %s: %v", what, err)
	g.later(w, r, http.StatusServiceUnavailable, messageOutage)
}

// messageToken answers a request without a valid token.
const messageToken = "Send a token of the cluster: Authorization: Bearer TOKEN"

// The answers to requests that can be sent again.
const (
	messageOutage    = "The server cannot check your access: the API server does not answer."
	messageStrangers = "The server checks too many tokens at once. Try again in a moment."
)

// later answers a request that can be sent again.
func (g *Gate) later(w http.ResponseWriter, r *http.Request, status int, message string) {
	w.Header().Set("Retry-After", "5")
	if wantsPage(r) || r.URL.Path == loginPath {
		g.show(w, r, status, form{Message: message})
		return
	}
	http.Error(w, message, status)
}

// wantsPage reports whether a browser shows the answer as a page.
func wantsPage(r *http.Request) bool {
	media := strings.Split(r.Header.Get("Accept"), ",")
	return r.Method == http.MethodGet && slices.ContainsFunc(media, func(text string) bool {
		name, _, _ := strings.Cut(text, ";")
		return strings.TrimSpace(name) == "text/html"
	})
}

// ProtectMetrics answers requests by next if their token is valid and its user may get the URL
// /metrics, as the components of Kubernetes do.
func (g *Gate) ProtectMetrics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var who user.Info
		var err error
		may := false

		if token := tokenOf(r); token != "" {
			who, err = g.reviews.user(r.Context(), token, serve.AddressOf(r))
		}
		if who != nil {
			may, err = g.reviews.mayGet(r.Context(), who, r.URL.Path)
		}

		switch {
		case errors.Is(err, errStrangers):
			g.later(w, r, http.StatusTooManyRequests, messageStrangers)
		case err != nil:
			g.unavailable(w, r, "the access to the metrics could not be reviewed", err)
		case who == nil:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, messageToken, http.StatusUnauthorized)
		case !may:
			http.Error(w, "You may not get the URL "+r.URL.Path+" of the cluster.", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// viewer is the user of a request, with the permissions of that user.
type viewer struct {
	gate                *Gate
	who                 user.Info
	queues, nodes, pods bool // may be listed, in all namespaces
}

var _ serve.Viewer = &viewer{}

// Name is the name of the user.
func (v *viewer) Name() string { return v.who.GetName() }

// Queues reports whether the viewer may list queues.
func (v *viewer) Queues(context.Context) bool { return v.queues }

// Nodes reports whether the viewer may list nodes.
func (v *viewer) Nodes(context.Context) bool { return v.nodes }

// Namespace reports whether the viewer may list the pods of a namespace. Without an answer, the
// viewer may not.
func (v *viewer) Namespace(ctx context.Context, name string) bool {
	if v.pods {
		return true
	}

	may, err := v.gate.reviews.mayList(ctx, v.who, "", "pods", name)
	if err != nil && ctx.Err() == nil {
		v.gate.report("error: the access of %q to namespace %s could not be reviewed: %v", v.Name(), name, err)
	}
	return may && err == nil
}
