package cards

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/bits-and-blooms/bitset"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

// maxExpressions is the number of CEL expressions that stay compiled.
const maxExpressions = 1000

// expressions are compiled CEL expressions, as the allocator of Kubernetes compiles them.
var expressions = cel.NewCache(maxExpressions, cel.Features{EnableConsumableCapacity: true})

// The cost of CEL expressions, in the units of CEL. 1,000,000 take about a quarter of a second.
const (
	// mostCost bounds the cost of all evaluations of a session. Any tenant can create claims, so without a bound their
	// expressions could stop the scheduler. The next sessions evaluate the rest.
	mostCost    = 4 * resourcev1.CELSelectorExpressionMaxCost
	callCost    = 20   // of an evaluation, in addition to the cost of its expression
	compileCost = 1000 // of an expression
)

// quantities finds the calls of quantity and isQuantity in an expression. A match that ends with a bracket has a short
// literal. Kubernetes writes out all digits of quantity("1e2000000000") to compare it, at a cost of 1.
var quantities = regexp.MustCompile(`\b(?:q|isQ)uantity\b` +
	`(?:\(\s*["'][+-]?[0-9]{1,18}(?:\.[0-9]{1,9})?(?:[numkKMGTPE]i?|[eE][+-]?[0-9]{1,2})?["']\s*\))?`)

// unfinished is the problem of a query or a shape that the next sessions read on.
const unfinished = "finding its devices takes long, and the next cycles go on"

// query finds the devices that a class and the selectors of a request admit. Requests that are alike share one. A
// device is evaluated once, as long as its slice and the class stay the same.
type query struct {
	text      string // the key of the query in devices.queries
	class     string
	selectors []resourcev1.DeviceSelector

	version   uint64                  // of the devices, once all of them are evaluated
	object    *resourcev1.DeviceClass // with which devices are evaluated
	evaluated bitset.BitSet           // devices, by number
	admitted  bitset.BitSet           // the evaluated devices that the query admits
	cost      uint64                  // of all evaluations
	problem   string                  // the reason why it admits none, "" if it can admit some
}

// read evaluates the devices that are new, as far as the cost of the session allows.
func (q *query) read(d *devices) {
	if d.cost >= mostCost {
		q.problem = unfinished
		return
	}

	programs, problem := q.compile(d)
	d.cost += uint64(len(programs)) * compileCost
	q.problem = problem
	if problem != "" {
		q.version = d.version
		return
	}

	for _, device := range d.byID {
		if q.evaluated.Test(device.number) {
			continue
		}
		if d.cost >= mostCost {
			q.problem = unfinished
			return
		}

		matches, cost := admits(programs, device)
		q.evaluated.Set(device.number)
		q.admitted.SetTo(device.number, matches)
		q.cost += cost
		d.cost += cost
	}
	q.version = d.version
}

// compile compiles the expressions of the class and of the request. Another class makes all evaluations stale.
func (q *query) compile(d *devices) (programs []cel.CompilationResult, problem string) {
	class := d.classes[q.class]
	if class != q.object {
		q.object = class
		q.evaluated.ClearAll()
	}
	if class == nil {
		return nil, fmt.Sprintf("the device class %s does not exist", Shown(q.class))
	}

	programs, problem = compile(class.Spec.Selectors, "the device class "+Shown(q.class))
	if problem != "" {
		return nil, problem
	}
	own, problem := compile(q.selectors, "its request")
	return append(programs, own...), problem
}

// compile compiles the expressions of the selectors of an owner, which problems name. A selector without an
// expression admits nothing, as in Kubernetes.
func compile(selectors []resourcev1.DeviceSelector, owner string) (programs []cel.CompilationResult, problem string) {
	for _, s := range selectors {
		if s.CEL == nil {
			return nil, "a selector of " + owner + " has no CEL expression"
		}

		for _, call := range quantities.FindAllString(s.CEL.Expression, -1) {
			if !strings.HasSuffix(call, ")") {
				const problem = `a CEL expression of %s has a quantity that is no short literal like quantity("16Gi")`
				return nil, fmt.Sprintf(problem, owner)
			}
		}

		program := expressions.GetOrCompile(s.CEL.Expression)
		if program.Error != nil {
			text := Shown(oneLine(program.Error.Error()))
			return nil, fmt.Sprintf("a CEL expression of %s does not compile: %s", owner, text)
		}
		programs = append(programs, program)
	}
	return programs, ""
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// admits reports whether all programs admit a device, and what their evaluation costs. A program that fails admits
// nothing: the allocator gives no device in that case either.
func admits(programs []cel.CompilationResult, d *device) (all bool, cost uint64) {
	input := cel.Device{
		Driver:                   d.id.driver,
		AllowMultipleAllocations: d.object.AllowMultipleAllocations,
		Attributes:               d.object.Attributes,
		Capacity:                 d.capacity,
	}

	for _, p := range programs {
		matches, details, err := p.DeviceMatches(context.Background(), input)
		cost += callCost
		if actual := details.ActualCost(); actual != nil {
			cost += *actual
		}
		if err != nil || !matches {
			return false, cost
		}
	}
	return true, cost
}
