package session

import (
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/record"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// The tests of this package are in package session_test, because package testbed imports this one. Here are the names
// that they use and nobody else.

var (
	CardBuilder       = cardBuilder
	CapacityBuilder   = capacityBuilder
	ProportionBuilder = proportionBuilder

	InForce       = &inForce
	ErrNoSnapshot = errNoSnapshot
)

const FewNames = fewNames

// NewWhatIf returns the state that PrePredicate keeps for a task.
func NewWhatIf(v index.Version) any { return &whatIf{queues: v} }

func (b *Builder) Lend() *Memory      { return b.lend() }
func (b *Builder) GiveBack(m *Memory) { b.giveBack(m) }
func (b *Builder) Idle() []*Memory    { return b.idle }
func (b *Builder) Forget()            { b.idle = nil }
func (p *Plugin) Builder() *Builder   { return p.builder }

func (m *Memory) Now() time.Time           { return m.now() }
func (m *Memory) Intake() *intake.State    { return &m.intake }
func (m *Memory) Journal() *report.Journal { return m.journal }
func (m *Memory) Metrics() *report.Metrics { return m.metrics }
func (m *Memory) Warnings() *record.Log    { return &m.warnings }
func (m *Memory) WaitForStatus()           { m.status.Wait() }
func (m *Memory) KnownNames() int          { return m.knownNames() }
func (m *Memory) RenewNames() bool         { return m.renewNames() }
func (m *Memory) Parse(v arguments.Variant, given map[string]any) arguments.Settings {
	return m.parse(v, given)
}

func (s *served) Warnings() *record.Log { return &s.warnings }

func (s *Session) Explainer() *report.Explainer { return &s.explain }
func (s *Session) QueueOrder(l, r any) int      { return s.queueOrder(l, r) }
func (s *Session) VictimQueueOrder(l, r, preemptor any) int {
	return s.victimQueueOrder(l, r, preemptor)
}
func (s *Session) OnDeallocate(event *framework.Event) { s.onDeallocate(event) }
func (s *Session) NodeOrder(t *api.TaskInfo, n *api.NodeInfo) (float64, error) {
	return s.nodeOrder(t, n)
}
