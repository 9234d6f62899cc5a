package session

import (
	"sync"
	"time"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/store"
)

// The names that the engine is registered under.
const (
	Name           = arguments.CapacityCard
	CapacityName   = arguments.Capacity
	ProportionName = arguments.Proportion
)

var (
	cardBuilder       = builderOf(Name)
	capacityBuilder   = builderOf(CapacityName)
	proportionBuilder = builderOf(ProportionName)
)

// New returns the plugin capacity-card for one session.
func New(given framework.Arguments) framework.Plugin { return cardBuilder.build(given) }

// NewCapacity returns the drop-in for upstream's capacity for one session.
func NewCapacity(given framework.Arguments) framework.Plugin {
	return capacityBuilder.build(given)
}

// NewProportion returns the drop-in for upstream's proportion for one session.
func NewProportion(given framework.Arguments) framework.Plugin {
	return proportionBuilder.build(given)
}

// Register registers the three names with Volcano, and the actions that carry out plans (NewReclaim, NewPreempt).
// capacity and proportion replace upstream's plugins, which upstream registers when its packages are initialized: call
// Register from main.
func Register() {
	framework.RegisterPluginBuilder(Name, New)
	framework.RegisterPluginBuilder(CapacityName, NewCapacity)
	framework.RegisterPluginBuilder(ProportionName, NewProportion)
	RegisterActions()
}

// RegisterAt registers the three names with a memory of their own and a clock, and the actions: for sessions in virtual
// time. Register undoes it.
func RegisterAt(now func() time.Time) {
	for _, usual := range []*builder{cardBuilder, capacityBuilder, proportionBuilder} {
		own := &builder{variant: usual.variant, now: now}
		framework.RegisterPluginBuilder(own.variant.Name, own.build)
	}
	RegisterActions()
}

// builder builds the plugins of one name, and owns what is kept across sessions.
type builder struct {
	variant arguments.Variant
	now     func() time.Time // nil: time.Now
	mu      sync.Mutex
	idle    []*memory
}

func builderOf(name string) *builder {
	v, _ := arguments.VariantOf(name)
	return &builder{variant: v}
}

func (b *builder) build(given framework.Arguments) framework.Plugin {
	return &quotaPlugin{builder: b, arguments: given}
}

// lend returns memory for one session. Concurrent sessions, as of two schedulers
// in one process, get one each.
func (b *builder) lend() *memory {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.idle); n > 0 {
		m := b.idle[n-1]
		b.idle = b.idle[:n-1]
		return m
	}
	m := newMemory()
	if b.now != nil {
		m.now = b.now
	}
	return m
}

func (b *builder) giveBack(m *memory) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, m)
}

// quotaPlugin is a plugin of one session.
type quotaPlugin struct {
	builder   *builder
	arguments framework.Arguments
	session   *session      // while the session is open
	begin     func(*memory) // before the session opens; nil for nothing
}

// Name is the name that the plugin is registered under.
func (p *quotaPlugin) Name() string { return p.builder.variant.Name }

// OnSessionOpen reads the session's queues and jobs and registers the hooks,
// unless another plugin of this package serves the session.
func (p *quotaPlugin) OnSessionOpen(ssn *framework.Session) {
	if first := inForce.of(ssn); first != nil {
		inForce.warn(p.Name(), first.variant.Name)
		if first.variant.Name == p.Name() {
			p.session = first // Volcano closes only the last plugin of a name
		}
		return
	}
	m := p.builder.lend()
	if p.begin != nil {
		p.begin(m)
	}
	p.session = openSession(ssn, p.builder.variant, m.parse(p.builder.variant, p.arguments), m)
	inForce.opened(ssn, p.session)
}

// OnSessionClose writes the last metrics and gives the memory back.
func (p *quotaPlugin) OnSessionClose(ssn *framework.Session) {
	if p.session == nil || inForce.of(ssn) != p.session {
		return
	}
	inForce.closed(ssn)
	p.session.close()
	p.builder.giveBack(p.session.memory)
	p.session = nil
}

// Inspect returns the inspection of a plugin of this package, from the opening of
// its session to the close; false for any other plugin.
func Inspect(p framework.Plugin) (inspect.Inspection, bool) {
	own, ok := p.(*quotaPlugin)
	if !ok || own.session == nil {
		return inspect.Inspection{}, false
	}
	return inspectionOf(own.session), true
}

func inspectionOf(s *session) inspect.Inspection {
	return inspect.Of(inspect.Session{Session: &s.Session, Settings: &s.settings, Admit: &s.admit, Reclaim: &s.reclaim, Explain: &s.explain,
		Fences: &s.memory.fences, Fairness: &s.memory.fairness, Budgets: &s.memory.budgets, Evictions: &s.memory.evictions,
		Queues: &s.memory.queues, Order: s.CompareQueues,
		DecideTask: s.decideTask, DecideNode: s.decideNode})
}

// BeginWith makes the next session of a plugin of this package begin with what is stored, nil for what
// the queues have, and not with that of the session before.
func BeginWith(p framework.Plugin, stored *store.Stored) {
	if own, ok := p.(*quotaPlugin); ok {
		own.begin = func(m *memory) { m.begin(stored) }
	}
}
