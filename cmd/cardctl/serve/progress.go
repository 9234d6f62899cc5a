package serve

import (
	"net/http"
	"regexp"
	"sync"
)

// progress holds the stages of simulations, by the names that their pages gave them.
type progress struct {
	stages sync.Map // from string to stage
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

	report = func(what string) func(cycle, events int) {
		p.stages.Store(run, stage{What: what})
		return func(cycle, events int) { p.stages.Store(run, stage{what, cycle, events}) }
	}
	return report, func() { p.stages.Delete(run) }
}

// showProgress answers with the stage of a simulation.
func (s *Server) showProgress(w http.ResponseWriter, r *http.Request) {
	at, runs := s.progress.stages.Load(r.URL.Query().Get("run"))
	if !runs || !ViewerOf(r.Context()).Queues(r.Context()) {
		s.failJSON(w, http.StatusNotFound, errNotFound)
		return
	}
	s.writeJSON(w, http.StatusOK, at)
}
