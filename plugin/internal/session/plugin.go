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
	cardBuilder       = BuilderOf(Name)
	capacityBuilder   = BuilderOf(CapacityName)
	proportionBuilder = BuilderOf(ProportionName)
)

// New returns the plugin capacity-card for one session.
func New(given framework.Arguments) framework.Plugin { return cardBuilder.Build(given) }

// NewCapacity returns the drop-in for upstream's capacity for one session.
func NewCapacity(given framework.Arguments) framework.Plugin {
	return capacityBuilder.Build(given)
}

// NewProportion returns the drop-in for upstream's proportion for one session.
func NewProportion(given framework.Arguments) framework.Plugin {
	return proportionBuilder.Build(given)
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
	for _, usual := range []*Builder{cardBuilder, capacityBuilder, proportionBuilder} {
		own := &Builder{Variant: usual.Variant, Now: now}
		framework.RegisterPluginBuilder(own.Variant.Name, own.Build)
	}
	RegisterActions()
}

// Builder builds the plugins of one name, and owns the memory across sessions.
type Builder struct {
	Variant arguments.Variant
	Now     func() time.Time // nil: time.Now
	mu      sync.Mutex
	idle    []*Memory
}

// BuilderOf returns the builder of a name, with a memory of its own.
func BuilderOf(name string) *Builder {
	v, _ := arguments.VariantOf(name)
	return &Builder{Variant: v}
}

// Build returns a plugin for one session.
func (b *Builder) Build(given framework.Arguments) framework.Plugin {
	return &Plugin{builder: b, arguments: given}
}

// lend returns memory for one session. Concurrent sessions, such as in two schedulers in one process, get one each.
func (b *Builder) lend() *Memory {
	b.mu.Lock()
	defer b.mu.Unlock()

	if n := len(b.idle); n > 0 {
		m := b.idle[n-1]
		b.idle = b.idle[:n-1]
		return m
	}

	m := NewMemory()
	if b.Now != nil {
		m.now = b.Now
	}

	return m
}

func (b *Builder) giveBack(m *Memory) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, m)
}

// Plugin is a plugin of one session.
type Plugin struct {
	builder   *Builder
	arguments framework.Arguments
	Session   *Session      // while the session is open
	begin     func(*Memory) // before the session opens; nil for nothing
}

// Name is the name that the plugin is registered under.
func (p *Plugin) Name() string { return p.builder.Variant.Name }

// OnSessionOpen reads the session's queues and jobs and registers the hooks, unless another plugin of this package
// serves the session.
func (p *Plugin) OnSessionOpen(ssn *framework.Session) {
	if first := inForce.of(ssn); first != nil {
		inForce.warn(p.Name(), first.Variant.Name)
		if first.Variant.Name == p.Name() {
			p.Session = first // Volcano closes only the last plugin of a name
		}
		return
	}

	m := p.builder.lend()
	if p.begin != nil {
		p.begin(m)
	}

	p.Session = Open(ssn, p.builder.Variant, m.parse(p.builder.Variant, p.arguments), m)
	inForce.opened(ssn, p.Session)
}

// OnSessionClose writes the last metrics and gives the memory back.
func (p *Plugin) OnSessionClose(ssn *framework.Session) {
	if p.Session == nil || inForce.of(ssn) != p.Session {
		return
	}
	inForce.closed(ssn)
	p.Session.close()
	p.builder.giveBack(p.Session.Memory)
	p.Session = nil
}

// Inspect returns the inspection of a plugin of this package, from the opening of its session to the close. It returns
// false for any other plugin.
func Inspect(p framework.Plugin) (inspect.Inspection, bool) {
	own, ok := p.(*Plugin)
	if !ok || own.Session == nil {
		return inspect.Inspection{}, false
	}
	return InspectionOf(own.Session), true
}

// InspectionOf returns the inspection of an open session.
func InspectionOf(s *Session) inspect.Inspection {
	return inspect.Of(inspect.Parts{
		Session:   &s.Session,
		Settings:  &s.Settings,
		Admit:     &s.Admit,
		Reclaim:   &s.Reclaim,
		Explain:   &s.explain,
		Fences:    &s.Memory.fences,
		Fairness:  &s.Memory.Fairness,
		Queues:    &s.Memory.queues,
		Evictions: &s.Memory.Evictions,
		Budgets:   &s.Memory.Budgets,
		Order:     s.CompareQueues,
		Decide:    s.Decide,
	})
}

// BeginWith makes the next session of a plugin of this package begin with stored state, and not with the state of the
// session before. With nil, the session begins with the present allocation of the queues.
func BeginWith(p framework.Plugin, stored *store.Stored) {
	if own, ok := p.(*Plugin); ok {
		own.begin = func(m *Memory) { m.begin(stored) }
	}
}
