package plugin

import (
	"sync"

	"volcano.sh/volcano/pkg/scheduler/framework"
)

// The names under which the engine is registered.
const (
	Name           = "capacity-card"
	CapacityName   = "capacity"
	ProportionName = "proportion"
)

// Names are all of them. Each of these plugins counts all pods and bounds all
// queues, so only one can be in force.
var Names = []string{Name, CapacityName, ProportionName}

// variant is what sets the three names apart.
type variant struct {
	name string
	// scalars: every scalar resource counts, not cpu and memory alone.
	scalars bool
	// weighted: deserved follows from weights and is the bound of allocation.
	weighted bool
	// zeroUnset: unsetCapability is zero by default.
	zeroUnset bool
	cards     whereCards
}

// whereCards is where the cards of tasks count.
type whereCards int

const (
	noCards       whereCards = iota
	cardsWhereSet            // in queues that have a card annotation, or an ancestor with one
	cardsAlways
)

var (
	cardBuilder       = &builder{variant: variant{name: Name, zeroUnset: true, cards: cardsAlways}}
	capacityBuilder   = &builder{variant: variant{name: CapacityName, scalars: true, cards: cardsWhereSet}}
	proportionBuilder = &builder{variant: variant{name: ProportionName, scalars: true, weighted: true}}
)

// New returns the plugin capacity-card for one session.
func New(arguments framework.Arguments) framework.Plugin { return cardBuilder.build(arguments) }

// NewCapacity returns the drop-in for upstream's capacity for one session.
func NewCapacity(arguments framework.Arguments) framework.Plugin {
	return capacityBuilder.build(arguments)
}

// NewProportion returns the drop-in for upstream's proportion for one session.
func NewProportion(arguments framework.Arguments) framework.Plugin {
	return proportionBuilder.build(arguments)
}

// Register makes the three names known to Volcano, capacity and proportion in
// place of upstream's. Upstream registers its own when its package is
// initialised, so call Register from main.
func Register() {
	framework.RegisterPluginBuilder(Name, New)
	framework.RegisterPluginBuilder(CapacityName, NewCapacity)
	framework.RegisterPluginBuilder(ProportionName, NewProportion)
}

// builder makes the plugins of one name, and owns what lives across sessions.
type builder struct {
	variant
	mu   sync.Mutex
	idle []*memory
}

func (b *builder) build(arguments framework.Arguments) framework.Plugin {
	return &quotaPlugin{builder: b, arguments: arguments}
}

// lend hands out memory for one session. Sessions that overlap, as they do with
// two schedulers in a process, get one each.
func (b *builder) lend() *memory {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.idle); n > 0 {
		m := b.idle[n-1]
		b.idle = b.idle[:n-1]
		return m
	}
	return newMemory()
}

func (b *builder) giveBack(m *memory) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, m)
}

// quotaPlugin is one plugin of one session.
type quotaPlugin struct {
	*builder
	arguments framework.Arguments
	session   *session // while the session is open
}

// Name is the name the plugin is registered under.
func (p *quotaPlugin) Name() string { return p.name }

// OnSessionOpen counts the session's queues and jobs and registers the hooks.
func (p *quotaPlugin) OnSessionOpen(ssn *framework.Session) {
	m := p.lend()
	p.session = openSession(ssn, p.variant, m.settings(p.variant, p.arguments), m)
}

// OnSessionClose writes the last metrics and gives the memory back.
func (p *quotaPlugin) OnSessionClose(ssn *framework.Session) {
	if p.session == nil {
		return
	}
	p.session.publishInner()
	p.session.mendParents()
	p.giveBack(p.session.memory)
	p.session = nil
}
