package serve

import (
	"net/http"
	"regexp"
	"sync"
)

// progress holds the stages of simulations, by the names that their pages gave them.
type progress struct {
	mu     sync.Mutex
	stages map[string]stage
}

// stage counts the cycles and events of a simulation so far.
type stage struct {
	What   string `json:"what"` // before or after: the cluster without the change, or with it
	Cycle  int    `json:"cycle"`
	Events int    `json:"events"`
}

// runName is the form of a name that a page gives. Such a name cannot be guessed.
var runName = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// begin returns a function that reports the progress of a simulation, and one that ends it. Simulations that run at
// once bound the number of names.
func (p *progress) begin(run string) (report func(what string) func(cycle, events int), end func()) {
	if !runName.MatchString(run) {
		return nil, func() {}
	}

	set := func(s stage) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stages[run] = s
	}

	report = func(what string) func(cycle, events int) {
		set(stage{What: what})
		return func(cycle, events int) { set(stage{what, cycle, events}) }
	}
	return report, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.stages, run)
	}
}

// showProgress answers with the stage of a simulation.
func (s *Server) showProgress(w http.ResponseWriter, r *http.Request) {
	s.progress.mu.Lock()
	at, runs := s.progress.stages[r.URL.Query().Get("run")]
	s.progress.mu.Unlock()

	if !runs || !ViewerOf(r.Context()).Queues(r.Context()) {
		s.failJSON(w, http.StatusNotFound, errNotFound)
		return
	}
	s.writeJSON(w, http.StatusOK, at)
}
