package plugin

import (
	"time"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/store"
)

// New returns the plugin capacity-card for one session.
func New(given framework.Arguments) framework.Plugin { return session.New(given) }

// NewCapacity returns the drop-in for upstream's capacity for one session.
func NewCapacity(given framework.Arguments) framework.Plugin { return session.NewCapacity(given) }

// NewProportion returns the drop-in for upstream's proportion for one session.
func NewProportion(given framework.Arguments) framework.Plugin { return session.NewProportion(given) }

// NewReclaim returns the action reclaim. Where cards count, or policies decide who is evicted, it carries out plans for
// whole jobs (quota/plan). Elsewhere it is Volcano's.
func NewReclaim() framework.Action { return session.NewReclaim() }

// NewPreempt returns the action preempt, which carries out plans as NewReclaim does. What tasks of one job take from
// one another is left to Volcano's action.
func NewPreempt() framework.Action { return session.NewPreempt() }

// Register registers the three names with Volcano, and the actions that carry out plans (NewReclaim, NewPreempt).
// capacity and proportion replace upstream's plugins, which upstream registers when its packages are initialized: call
// Register from main.
func Register() { session.Register() }

// RegisterAt registers the three names with a memory of their own and a clock, and the actions: for sessions in virtual
// time. Register undoes it.
func RegisterAt(now func() time.Time) { session.RegisterAt(now) }

// RegisterActions puts the actions with plans in the place of those that Volcano has registered. Register calls it. A
// shared object of one plugin calls it when it is loaded.
func RegisterActions() { session.RegisterActions() }

// Plans reports whether the actions reclaim and preempt carry out plans in a session. It is false where no plugin of
// this package is in force.
func Plans(ssn *framework.Session) bool { return session.Plans(ssn) }

// Inspect returns the inspection of a plugin of this package, from the opening of its session to the close; false for
// any other plugin.
func Inspect(p framework.Plugin) (inspect.Inspection, bool) { return session.Inspect(p) }

// BeginWith makes the next session of a plugin of this package begin with stored state, and not with the state of the
// session before. With nil, the session begins with the present allocation of the queues.
func BeginWith(p framework.Plugin, stored *store.Stored) { session.BeginWith(p, stored) }
