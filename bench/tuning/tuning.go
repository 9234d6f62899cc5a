// Package tuning has the settings of Volcano that docs/tuning.md measures.
package tuning

import (
	"fmt"
	"strconv"
	"strings"
)

// Setting is the set of plugins in deploy/cards with Volcano's defaults, and changes of them.
type Setting struct {
	Name  string // in results
	Title string // on the page, in Markdown

	Percentage int // --percentage-nodes-to-find; 0: Volcano's default
	Verbosity  int // -v
	GC         int // GOGC; 0: Go's default

	// Arguments of plugins, as lines of the configuration. "-" for nodeorder leaves the plugin out.
	nodeOrder, predicates []string
	last                  bool // the quota plugin is asked about a node after predicates
}

// without leaves a plugin out.
const without = "-"

var (
	packing = []string{"leastrequested.weight: 0", "balancedresource.weight: 0"}
	unused  = []string{
		"predicate.PodAffinityEnable: false",
		"predicate.PodTopologySpreadEnable: false",
		"predicate.NodePortsEnable: false",
		"predicate.NodeVolumeLimitsEnable: false",
		"predicate.VolumeZoneEnable: false",
		"predicate.VolumeBindingEnable: false",
	}
)

// The first and the last setting.
var (
	Usual = Setting{Name: "usual", Title: "Volcano's defaults", Verbosity: 3}
	Tuned = Setting{
		Name:       "tuned",
		Title:      "all of [What to set](#what-to-set)",
		Percentage: 2,
		Verbosity:  2,
		GC:         400,
		nodeOrder:  packing,
		predicates: unused,
	}
)

// Whole are the settings that are measured with a whole scheduler.
var Whole = []Setting{Usual, Tuned}

// Names returns the names of Whole.
func Names() (names []string) {
	for _, s := range Whole {
		names = append(names, s.Name)
	}
	return names
}

// Settings are the rows of the page.
var Settings = []Setting{
	Usual,
	{Name: "quiet", Title: "`-v=2`", Verbosity: 2},
	{Name: "nodes-2", Title: "`--percentage-nodes-to-find=2`", Percentage: 2, Verbosity: 3},
	{Name: "nodes-5", Title: "`--percentage-nodes-to-find=5`", Percentage: 5, Verbosity: 3},
	{Name: "packing", Title: "arguments of `nodeorder`", Verbosity: 3, nodeOrder: packing},
	{Name: "no-nodeorder", Title: "no `nodeorder`", Verbosity: 3, nodeOrder: []string{without}},
	{Name: "predicates", Title: "arguments of `predicates`", Verbosity: 3, predicates: unused},
	{Name: "cache", Title: "`predicate.CacheEnable: true`", Verbosity: 3,
		predicates: []string{"predicate.CacheEnable: true"}},
	{Name: "order", Title: "`capacity-card` after `predicates`", Verbosity: 3, last: true},
	{Name: "gc", Title: "`GOGC=400`", Verbosity: 3, GC: 400},
	Tuned,
}

// Flags returns the flags of the scheduler.
func (s Setting) Flags() []string {
	return []string{"--percentage-nodes-to-find=" + strconv.Itoa(s.Percentage), "-v=" + strconv.Itoa(s.Verbosity)}
}

// Environment returns the variables of the scheduler.
func (s Setting) Environment() []string {
	if s.GC == 0 {
		return nil
	}
	return []string{"GOGC=" + strconv.Itoa(s.GC)}
}

// quotas are the arguments of the quota plugin.
var quotas = []string{"reclaimGangs: whole"}

// Configuration returns the volcano-scheduler.conf.
func (s Setting) Configuration() string {
	var b strings.Builder
	b.WriteString(`actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
`)

	if !s.last {
		plugin(&b, "capacity-card", quotas)
	}

	b.WriteString(`- plugins:
  - name: drf
    enablePreemptable: false
`)

	plugin(&b, "predicates", s.predicates)
	if s.last {
		plugin(&b, "capacity-card", quotas)
	}
	plugin(&b, "nodeorder", s.nodeOrder)
	plugin(&b, "binpack", nil)
	return b.String()
}

func plugin(b *strings.Builder, name string, arguments []string) {
	if len(arguments) == 1 && arguments[0] == without {
		return
	}

	fmt.Fprintf(b, "  - name: %s\n", name)
	if len(arguments) > 0 {
		fmt.Fprintf(b, "    arguments:\n      %s\n", strings.Join(arguments, "\n      "))
	}
}
