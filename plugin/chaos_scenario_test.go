package plugin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
)

// scenario is everything that a run of a random world depends on: the configuration of
// the scheduler, and what happens before each cycle. The world is empty at first.
type scenario struct {
	plugin     string
	hierarchy  bool
	arguments  framework.Arguments
	actions    []string
	gangSpares bool // gang spares the minimum of a job from preemption
	grace      int  // cycles for which an evicted pod terminates
	eager      bool // controllers replace a pod as soon as it terminates
	topology   bool // preempt is aware of topology: it simulates
	cycles     int  // cycles with acts; quiet ones follow
	acts       []act
}

// act is something that a tenant, an admin, a node or the scheduler does before a cycle.
type act struct {
	cycle int // from 1
	deed  deed
}

// deed is the change that an act makes. Deeds are independent: each one is valid in any world, and
// does nothing where its object does not exist.
type deed interface {
	apply(w *world)
	String() string
	simpler() []deed // smaller deeds of the same kind
}

// jobSpec describes a PodGroup and its pods.
type jobSpec struct {
	name, queue  string
	priority     int32
	minMember    int
	minResources workload.Resources // nil: not set
	cardRequest  string             // "": not set
	service      string             // the service type, "": not set
	owner        string             // the kind of the pods' controller, "": none
	// later: the controller creates the pods when the job is admitted.
	later bool
	pods  []podSpec
}

// podSpec describes a pod.
type podSpec struct {
	cards    string // card list, "" for a pod that names no card
	requests workload.Resources
	kept     bool // must not be evicted
	gated    bool
}

func (p podSpec) String() string {
	text := resourceText(p.requests)
	if p.cards != "" {
		text += ", card.name " + p.cards
	}
	if p.kept {
		text += `, preemptable "false"`
	}
	if p.gated {
		text += ", gated"
	}
	return text
}

// queueSpec describes a queue.
type queueSpec struct {
	queue         workload.Queue
	unreclaimable bool
	hollow        bool // the scheduler's cache has no object of it
}

type (
	submitJob struct{ spec jobSpec }
	removeJob struct{ job string }
	scaleJob  struct {
		job  string
		pods int
	}
	finishPod struct {
		job    string
		pod    int
		failed bool
	}
	openGates struct{ job string }
	editGroup struct { // of a job
		job          string
		minMember    int
		minResources workload.Resources
	}
	setQueue    struct{ spec queueSpec }
	deleteQueue struct{ queue string }
	setNode     struct{ node workload.Node }
	loseNode    struct{ node string }
	replacePods struct{ node string } // those of a lost node
	restart     struct{}
	leave       struct{ cycles int } // the plugin, from the configuration of the scheduler
	renew       struct{}             // all objects, unchanged
)

func (d submitJob) String() string {
	s := d.spec
	text := fmt.Sprintf("Job %s in queue %s: minMember %d", s.name, s.queue, s.minMember)
	if s.priority != 0 {
		text += fmt.Sprintf(", priority %d", s.priority)
	}
	if s.minResources != nil {
		text += ", minResources " + resourceText(s.minResources)
	}
	if s.cardRequest != "" {
		text += ", card.request " + s.cardRequest
	}
	if s.service != "" {
		text += ", service.type " + s.service
	}
	if s.owner != "" {
		text += ", of a " + s.owner
	}
	if s.later {
		text += ", its pods are created when it is admitted"
	}
	for i := 0; i < len(s.pods); {
		n := 1
		for i+n < len(s.pods) && s.pods[i+n].String() == s.pods[i].String() {
			n++
		}
		text += fmt.Sprintf("; %d pods with %s", n, s.pods[i])
		i += n
	}
	return text
}

func (d removeJob) String() string { return "Job " + d.job + " is deleted" }
func (d scaleJob) String() string  { return fmt.Sprintf("Job %s is scaled to %d pods", d.job, d.pods) }
func (d finishPod) String() string {
	if d.failed {
		return fmt.Sprintf("Pod %s-%d fails, if it runs", d.job, d.pod)
	}
	return fmt.Sprintf("Pod %s-%d succeeds, if it runs", d.job, d.pod)
}
func (d openGates) String() string { return "Job " + d.job + " loses its scheduling gates" }
func (d editGroup) String() string {
	return fmt.Sprintf("PodGroup %s: minMember %d, minResources %s", d.job, d.minMember, resourceText(d.minResources))
}
func (d setQueue) String() string {
	q := d.spec.queue
	text := "Queue " + q.Name + ":"
	if q.Parent != "" {
		text += " parent " + q.Parent + ","
	}
	text += fmt.Sprintf(" weight %d", q.Weight)
	if q.Priority != 0 {
		text += fmt.Sprintf(", priority %d", q.Priority)
	}
	for _, part := range []struct {
		name string
		list workload.Resources
	}{{"capability", q.Capability}, {"deserved", q.Deserved}, {"guarantee", q.Guarantee}} {
		if part.list != nil {
			text += ", " + part.name + " " + resourceText(part.list)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(q.Annotations)) {
		text += ", " + strings.TrimPrefix(key, "volcano.sh/") + " " + q.Annotations[key]
	}
	if q.Closed {
		text += ", closed"
	}
	if d.spec.hollow {
		text += ", without an object"
	}
	if d.spec.unreclaimable {
		text += ", reclaimable false"
	}
	return text
}
func (d deleteQueue) String() string { return "Queue " + d.queue + " is deleted" }
func (d setNode) String() string {
	text := "Node " + d.node.Name + ": " + resourceText(d.node.Allocatable)
	for _, key := range slices.Sorted(maps.Keys(d.node.Labels)) {
		text += ", label " + key + "=" + d.node.Labels[key]
	}
	return text
}
func (d loseNode) String() string    { return "Node " + d.node + " is lost" }
func (d replacePods) String() string { return "The pods of the lost node " + d.node + " are replaced" }
func (d restart) String() string     { return "The scheduler restarts" }
func (d leave) String() string {
	return fmt.Sprintf("The configuration is without the plugin for %d cycles", d.cycles)
}
func (d renew) String() string { return "All Queues and Nodes are updated without a change" }

// resourceText lists resources: cores, GiB, units.
func resourceText(r workload.Resources) string {
	if len(r) == 0 {
		return "nothing"
	}
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(r), compareResources) {
		switch amount := r[name]; name {
		case "cpu":
			parts = append(parts, fmt.Sprintf("cpu %gm", float64(amount)))
		case "memory":
			parts = append(parts, fmt.Sprintf("memory %gGi", float64(amount)/(1<<30)))
		default:
			parts = append(parts, fmt.Sprintf("%s %d", name, amount))
		}
	}
	return strings.Join(parts, " ")
}

// compareResources puts cpu and memory first.
func compareResources(x, y string) int {
	rank := func(name string) int { return max(0, slices.Index([]string{"", "memory", "cpu"}, name)) }
	return cmp.Or(rank(y)-rank(x), strings.Compare(x, y))
}

// String is the scenario as a person reads it.
func (s *scenario) String() string {
	b := &strings.Builder{}
	shape := "flat queues"
	if s.hierarchy {
		shape = "a tree of queues"
	}
	fmt.Fprintf(b, "plugin %s, %s, actions %s, arguments {", s.plugin, shape, strings.Join(s.actions, ", "))
	for i, key := range slices.Sorted(maps.Keys(s.arguments)) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "%s: %v", key, s.arguments[key])
	}
	fmt.Fprintf(b, "}, gang enablePreemptable %t; evicted pods terminate for %d cycles, replaced at once: %t; topology-aware preemption %t\n", s.gangSpares, s.grace, s.eager, s.topology)
	last := 0
	for _, a := range s.sorted() {
		if a.cycle != last {
			fmt.Fprintf(b, "before cycle %d\n", a.cycle)
			last = a.cycle
		}
		fmt.Fprintf(b, "    %s\n", a.deed)
	}
	return b.String()
}

// sorted returns the acts in the order in which they happen.
func (s *scenario) sorted() []act {
	acts := slices.Clone(s.acts)
	slices.SortStableFunc(acts, func(x, y act) int { return x.cycle - y.cycle })
	return acts
}

// The card annotations of queues.
var quotaKeys = []string{card.QuotaKey, card.DeservedKey, card.GuaranteeKey}
