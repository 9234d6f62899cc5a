package session

import (
	"fmt"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/record"
)

// inForce finds the plugin of this package that serves a session. A configuration that names two of them opens both:
// each would bound all queues, and their preemptable hooks would call each other without end. So only the first one
// serves the session. The others register no hook, which permits everything.
var inForce = served{sessions: map[types.UID]weak.Pointer[Session]{}}

// served maps the UIDs of open sessions. It does not keep a session alive that Volcano dropped without closing it.
type served struct {
	mu       sync.Mutex
	sessions map[types.UID]weak.Pointer[Session]
	warnings record.Log
}

// warn warns once that a plugin is not in force because another one is.
func (s *served) warn(plugin, inForce string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings.Once(plugin, fmt.Sprintf("quota plugin %s is in force, so %s permits everything; "+
		"configure one quota plugin, once", inForce, plugin))
}

// of returns the session that a plugin of this package opened for ssn, nil for none.
func (s *served) of(ssn *framework.Session) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[ssn.UID].Value()
}

func (s *served) opened(ssn *framework.Session, by *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[ssn.UID] = weak.Make(by)
}

func (s *served) closed(ssn *framework.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, ssn.UID)
}
