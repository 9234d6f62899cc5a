package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"filippo.io/csrf"
	"github.com/klauspost/compress/gzhttp"

	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
)

// Options are the inputs and settings of a server.
type Options struct {
	Source   model.Source
	Cluster  string        // its name among several clusters, "" for one
	Interval time.Duration // the least time between two readings
	// Flags select the input, for the commands that pages show.
	Flags []string
	// Access authenticates requests: package serve describes it. nil shows everything to
	// everyone, and answers only requests for this machine.
	Access func(http.Handler) http.Handler
	// Metrics authenticates requests for the metrics. It is set if Access is.
	Metrics func(http.Handler) http.Handler
	Log     func(format string, arguments ...any)
}

// Server answers requests with the last model of a cluster.
type Server struct {
	options  Options
	keeper   *keeper
	events   *broadcaster
	trials   *trials
	measures *measures
	started  time.Time

	progress progress // of simulations

	all []*Server // of several clusters, nil for one
}

// New returns a server that has read nothing yet.
func New(o Options) *Server {
	events := newBroadcaster()
	measures := newMeasures(events)
	return &Server{
		options:  o,
		events:   events,
		trials:   newTrials(o.Log),
		measures: measures,
		started:  time.Now(),
		keeper: &keeper{
			source:   o.Source,
			interval: o.Interval,
			clock:    clock,
			log:      o.Log,
			history:  model.NewHistory(),
			events:   events,
			measures: measures,
		},
	}
}

// eventsPath is the path of the streams of events.
const eventsPath = "/events"

// Handler returns the handler of all paths.
func (s *Server) Handler() http.Handler {
	views := http.NewServeMux()
	s.addViews(views)

	streamed := http.NewServeMux()
	streamed.Handle("GET "+eventsPath, s.events)
	streamed.Handle("/", compress(views))

	access := s.options.Access
	metrics := s.options.Metrics
	if access == nil {
		access = func(next http.Handler) http.Handler { return loopbackOnly(showAll(next)) }
		metrics = loopbackOnly
	}

	all := http.NewServeMux()
	all.Handle("/", csrf.New().Handler(access(streamed)))
	all.Handle("GET /assets/", compress(page.Assets()))
	if metrics != nil {
		all.Handle("GET "+metricsPath, metrics(s.measures.handler()))
	}
	all.HandleFunc("GET /livez", live)
	all.HandleFunc("GET /readyz", s.ready)

	return secure(s.measures.count(all, all, streamed, views))
}

// compress answers with gzip if the client accepts it. It compresses pages and JSON only: a
// stream of events would wait in its buffer.
//
// Compression can tell an attacker who sees the length of answers whether a guess stands in them.
// Other sites cannot send requests with the cookie of a viewer, so they have no answers to measure.
func compress(next http.Handler) http.Handler {
	return gzhttp.GzipHandler(next)
}

// live answers that the server runs.
func live(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }

// isReady reports whether the cluster has been read.
func (s *Server) isReady() bool { return s.keeper.now().model != nil }

// ready answers whether the cluster has been read.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) { answerReady(w, s.isReady()) }

func answerReady(w http.ResponseWriter, ready bool) {
	if !ready {
		http.Error(w, "nothing has been read yet", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// Run reads the cluster until ctx is done.
func (s *Server) Run(ctx context.Context) { s.keeper.run(ctx) }

// The limits of a connection. A stream of events sets its own time, and a simulation ends before
// writeTime is over.
const (
	headerTime   = 5 * time.Second
	readTime     = 20 * time.Second
	writeTime    = time.Minute
	idleTime     = 2 * time.Minute
	eventTime    = 10 * time.Second
	shutdownTime = 3 * time.Second
	headerBytes  = 64 << 10
)

// Serve reads the cluster and answers requests until ctx is done. Then it ends the streams,
// and waits a moment for other requests.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	return answer(ctx, listener, s.Handler(), s.Run)
}

// answer answers requests until ctx is done, while run reads.
func answer(ctx context.Context, listener net.Listener, handler http.Handler, run func(context.Context)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		WriteTimeout:      writeTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerBytes,
	}

	go run(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()

	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
	}

	ending, done := context.WithTimeout(context.Background(), shutdownTime)
	defer done()
	if err := server.Shutdown(ending); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return server.Close()
}
