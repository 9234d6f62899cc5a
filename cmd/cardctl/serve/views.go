package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
	"github.com/capacity-card/capacity-card/cmd/cardctl/whatif"
)

// view is one page, and the same as JSON.
type view struct {
	name  string // of the template
	path  string
	open  bool // also for viewers who may not see queues
	still bool // does not follow the cluster
	// make returns the values for the template and the JSON.
	make func(*request) (body, document any, err error)
	// command returns the arguments of the cardctl command for a terminal.
	command func(*request) []string
	same    bool // the command prints the same
}

// request is a request for a view.
type request struct {
	*http.Request
	server *Server
	query  url.Values
	state  state
	*model.Model
	seen *seen
	full bool // the answer is JSON, which has all rows

	change    change // of the view What if
	changeErr error
}

var (
	errNotFound = errors.New("not found") // objects that do not exist, or may not be seen
	errNotRead  = errors.New("nothing has been read yet")
)

// list is a document with items, as the commands print it.
type list struct {
	document.Head
	Items  any     `json:"items"`
	Hidden *Hidden `json:"hidden,omitempty"` // jobs that the viewer may not see
	// Unread are the kinds that the server cannot list. Items lack them.
	Unread []string `json:"unread,omitempty"`
}

func (s *Server) views() []view {
	return []view{
		{name: "overview", path: "/overview", make: overviewView, command: commandOf("cards")},
		{name: "queues", path: "/queues", make: queuesView, command: queuesCommand, same: true},
		{name: "queue", path: "/queue/{name}", make: queueView, command: queueCommand},
		{name: "waiting", path: "/waiting", open: true, make: waitingView, command: waitingCommand, same: true},
		{name: "mine", path: "/mine", open: true, make: mineView, command: mineCommand},
		{name: "job", path: "/job/{namespace}/{name}", open: true, make: jobView, command: jobCommand, same: true},
		{name: "cards", path: "/cards", make: cardsView, command: commandOf("cards"), same: true},
		{name: "lending", path: "/lending", make: lendingView, command: commandOf("top", "--once", "-o", "wide")},
		{name: "whatif", path: "/whatif", still: true, make: whatIfView, command: whatIfCommand, same: true},
		{name: "health", path: "/health", make: healthView, command: commandOf("validate")},
		{name: "audit", path: "/audit", make: auditView, command: auditCommand, same: true},
		{name: "history", path: "/history", make: historyView,
			command: commandOf("top", "--watch", "--interval", "30s")},
		{name: "holders", path: "/holders", make: holdersView, command: holdersCommand, same: true},
	}
}

// isOfOne reports whether a view shows one object, which its path ends with.
func isOfOne(v view) bool { return strings.HasSuffix(v.path, "/{name}") }

func commandOf(words ...string) func(*request) []string {
	return func(*request) []string { return words }
}

func (s *Server) addViews(mux *http.ServeMux) {
	named := map[string]view{}
	for _, v := range s.views() {
		named[v.name] = v
		mux.HandleFunc("GET "+v.path, s.show(v, s.html))
		if isOfOne(v) {
			mux.HandleFunc("GET "+v.path+"/json", s.show(v, s.json))
		} else {
			mux.HandleFunc("GET "+v.path+".json", s.show(v, s.json))
		}
		if v.name == "whatif" {
			mux.HandleFunc("POST "+v.path, s.show(v, s.html))
			mux.HandleFunc("POST "+v.path+".json", s.show(v, s.json))
		}
	}

	mux.HandleFunc("GET /{$}", s.first(named["overview"], named["mine"]))
	mux.HandleFunc("GET /names", s.names)
	mux.HandleFunc("GET /whatif/progress.json", s.showProgress)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, s.request(r), http.StatusNotFound, errNotFound)
	})
}

func (s *Server) request(r *http.Request) *request {
	state := s.keeper.now()
	return &request{
		Request: r,
		server:  s,
		query:   r.URL.Query(),
		state:   state,
		Model:   state.model,
		seen:    newSeen(r.Context()),
	}
}

var errQueues = errors.New("you may not see queues: this needs the permission to list queues.scheduling.volcano.sh")

// show answers a request for a view in one form. Views of queues are for viewers who may see
// them.
func (s *Server) show(v view, write func(http.ResponseWriter, *request, view)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		after := s.events.last()
		q := s.request(r)
		q.query.Set("after", fmt.Sprint(after))
		if !v.open && !q.seen.viewer.Queues(r.Context()) {
			s.fail(w, q, http.StatusForbidden, errQueues)
			return
		}

		if v.name == "whatif" {
			q.change, q.changeErr = readChange(w, r)
		}

		write(w, q, v)
	}
}

func (s *Server) json(w http.ResponseWriter, q *request, v view) {
	if q.Model == nil {
		err := q.seen.failure(q.state.err)
		s.failJSON(w, http.StatusServiceUnavailable, cmp.Or(err, errNotRead))
		return
	}

	q.full = true
	_, content, err := v.make(q)
	if err != nil {
		s.failJSON(w, statusOf(w, err), err)
		return
	}

	s.writeJSON(w, http.StatusOK, content)
}

func (s *Server) writeJSON(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "    ")
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(document) // the client is gone
}

func (s *Server) failJSON(w http.ResponseWriter, status int, err error) {
	s.writeJSON(w, status, map[string]string{"error": err.Error()})
}

func (s *Server) html(w http.ResponseWriter, q *request, v view) {
	frame := s.frame(q, v)
	if q.Model == nil {
		frame.Name = "unread"
		status := http.StatusServiceUnavailable
		if q.Method == http.MethodGet {
			status = http.StatusOK // the page fills itself
		}
		s.write(w, status, frame)
		return
	}

	body, _, err := v.make(q)
	if err != nil {
		s.fail(w, q, statusOf(w, err), err)
		return
	}
	frame.Body = body
	frame.Still = v.still
	s.write(w, http.StatusOK, frame)
}

func (s *Server) write(w http.ResponseWriter, status int, frame *page.Frame) {
	if err := page.Write(w, status, frame); err != nil {
		s.options.Log("error: page %s: %v", frame.Name, err)
	}
}

// fail answers with a page that has one line.
func (s *Server) fail(w http.ResponseWriter, q *request, status int, err error) {
	if strings.HasSuffix(q.URL.Path, "json") {
		s.failJSON(w, status, err)
		return
	}

	frame := s.frame(q, view{name: "error", path: q.URL.Path, still: true})
	frame.Still = true
	frame.Body = struct {
		Status int
		Text   string
	}{status, err.Error()}
	s.write(w, status, frame)
}

// statusOf returns the HTTP status of an error.
func statusOf(w http.ResponseWriter, err error) int {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, errNotFound):
		return http.StatusNotFound
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "10")
		return http.StatusServiceUnavailable
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errForm):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// frame returns the parts that all pages have around their content.
func (s *Server) frame(q *request, v view) *page.Frame {
	f := &page.Frame{
		Name:   v.name,
		Path:   q.URL.Path,
		Query:  q.query,
		Accept: q.Header.Get("Accept-Language"),
		User:   q.seen.viewer.Name(),
		Queues: q.seen.viewer.Queues(q.Context()),

		Base:     s.base(),
		Clusters: s.clusters(v),
	}

	if v.command != nil {
		words := append([]string{"cardctl"}, v.command(q)...)
		f.Command = whatif.Quote(append(words, s.options.Flags...)...)
		f.Same = v.same
		f.JSON = v.path + ".json" // the path of the request can be /
		if isOfOne(v) {
			f.JSON = q.URL.Path + "/json"
		}
	}

	if err := q.seen.failure(q.state.err); err != nil {
		f.Error = err.Error()
		f.Since = q.state.since
	}
	if q.Model == nil {
		return f
	}

	f.Objects = q.Model
	f.Read = q.Model.Time
	f.Unchanged = q.state.unchanged
	f.Files = s.options.Source.Changed() == nil
	f.Unread(q.Model.Objects.Unread, len(q.Jobs) > 0)
	warnings := slices.DeleteFunc(slices.Clone(q.Notes), func(n model.Note) bool { return n.Severity == "note" })
	for _, n := range q.seen.notes(warnings) {
		f.Notes = append(f.Notes, n.Text)
	}
	return f
}
