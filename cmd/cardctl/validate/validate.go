// Package validate checks queues, cards and jobs, in manifests before they are applied or in a cluster.
package validate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin"
)

// Severity is the severity of an issue.
type Severity string

// The severities. For an error the scheduler refuses something. A warning is most likely a mistake. A note is allowed,
// and worth knowing.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// severities are in the order in which a file lists its issues.
var severities = []Severity{Error, Warning, Note}

// Issue is one thing that is wrong.
type Issue struct {
	input.Source
	Severity Severity `json:"severity"`
	Object   string   `json:"object"` // kind/name
	Field    string   `json:"field,omitempty"`
	Message  string   `json:"message"`

	Finding *explain.Finding `json:"-"` // of a job that cannot run, nil for other issues
	Topic   Topic            `json:"-"`
}

// String formats the issue in one line, as compilers do.
func (i Issue) String() string {
	where := i.Object
	if i.Field != "" {
		where += ": " + i.Field
	}
	if where != "" {
		where += ": "
	}
	return fmt.Sprintf("%s: %s: %s%s", i.Source, i.Severity, where, i.Message)
}

// checker collects issues.
type checker struct {
	objects    *input.Objects
	now        time.Time // the time of the configuration, otherwise of the clock
	queues     map[string]*scheduling.Queue
	tree       *index.Tree
	placed     *index.Tree // the same, or the tree of the parents where quotas are flat
	guarantees engine.Guarantees
	places     *index.Places      // by the annotations of queues; nil where parents make the tree
	stock      map[string]float64 // whole cards of the nodes, by card and group
	ready      map[string]float64 // the part of stock on nodes that are ready, and all devices
	groups     card.Groups
	numbers    map[stated]map[string]float64 // of the shares in an annotation, by card; NaN without nodes
	issues     []Issue
}

// Check returns the issues of objects, errors first in each file, or the error of ctx. If there are nodes among the
// objects, it also finds jobs that cannot run even on an empty cluster.
func Check(ctx context.Context, o *input.Objects, c *engine.Configuration) (*Result, error) {
	ck := &checker{objects: o, now: c.Now(), queues: map[string]*scheduling.Queue{}}
	ck.stock = map[string]float64{}
	ck.ready = map[string]float64{}
	for _, q := range o.Queues {
		ck.queues[q.Name] = q
	}

	// The checks of single objects need no world, which may be impossible to build.
	ck.reportInput()
	ck.checkConfiguration(c)
	ck.checkFlat(c)
	ck.checkJobs()
	ck.checkRequests()
	ck.checkKeys()
	ck.checkUncounted(c)
	ck.checkStability(c)

	world, err := engine.Build(o)
	if err != nil {
		return nil, err
	}
	ck.tree, ck.places = world.Tree(c)
	// Volcano's webhook checks the parents and the resources of flat queues, too.
	ck.placed, _ = world.Tree(&engine.Configuration{Hierarchy: true, Annotated: c.Annotated})
	ck.countCards(c)
	ck.resolveShares()
	ck.checkLending(c)
	ck.guarantees = engine.GuaranteesOf(ck.tree, ck.amounts)
	ck.checkQueues()

	r := &Result{Overlaps: ck.overlaps()}
	ck.checkTotals()
	ck.checkLost(world)
	for _, out := range world.LeftOut {
		ck.report(Warning, out.Object, out.Kind, "", "%s", out.Problem())
	}
	ck.checkClasses(c, world)
	if err := ck.checkWorkloads(ctx, c, world); err != nil {
		return nil, err
	}

	slices.SortStableFunc(ck.issues, func(a, b Issue) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity)),
			cmp.Compare(a.Line, b.Line))
	})
	r.Issues = ck.issues
	return r, nil
}

// report adds an issue, which the caller may complete before the next one.
func (ck *checker) report(
	severity Severity, object metav1.Object, kind, field, format string, arguments ...any,
) *Issue {
	ck.issues = append(ck.issues, Issue{
		Source:   ck.objects.SourceOfField(object, field),
		Severity: severity,
		Object:   input.Named(kind, object),
		Field:    field,
		Message:  fmt.Sprintf(format, arguments...),
	})
	return &ck.issues[len(ck.issues)-1]
}

// noEffect adds a warning about a value of a queue that decides nothing.
func (ck *checker) noEffect(q *scheduling.Queue, field, format string, arguments ...any) {
	ck.report(Warning, q, "Queue", field, format, arguments...).Topic = NoEffect
}

// reportProblems adds an issue for each problem of the annotations of an object. field is the path of the object that
// has the annotations: "" for the object itself, or the path of a template.
func (ck *checker) reportProblems(
	severity Severity, object metav1.Object, kind, field string, problems []card.Problem,
) {
	for _, p := range problems {
		ck.report(severity, object, kind, field+annotation(p.Key), "%s", p.Reason)
	}
}

// reportInput reports what was found when the objects were read.
func (ck *checker) reportInput() {
	o := ck.objects
	for severity, problems := range map[Severity][]input.Problem{
		Error:   slices.Concat(o.Problems, o.Unknown, o.Invalid),
		Warning: slices.Concat(o.Repeated, o.Newer),
	} {
		for _, p := range problems {
			ck.issues = append(ck.issues,
				Issue{Source: p.Source, Severity: severity, Object: p.Object, Field: p.Field, Message: p.Message})
		}
	}
}

// checkQueues checks each queue, and the sums of the queues below it.
func (ck *checker) checkQueues() {
	for _, q := range ck.objects.Queues {
		ck.checkPlace(q)
		ck.checkSpec(q)
		ck.checkAnnotations(q)
		ck.checkAgainstParent(q)
		ck.checkCards(q)
		ck.checkDeserved(q)
		ck.checkHolders(q)
		ck.checkSoftQuota(q)
		ck.checkGroups(q)
	}

	for _, q := range ck.objects.Queues {
		ck.checkSums(q)
		ck.checkResourceSums(q)
	}
}

// countCards counts the cards of the nodes and of ResourceSlices. A resource or a device without a card name matters
// only where cards count.
func (ck *checker) countCards(c *engine.Configuration) {
	cards := c.Settings().Cards
	ck.groups = cards.Groups
	warn := c.Plugin == plugin.Name || slices.ContainsFunc(ck.objects.Queues, namesCards)
	for _, node := range ck.objects.Nodes {
		ck.countNode(node, cards.Labels, warn)
	}
	for _, slice := range card.CurrentSlices(ck.objects.ResourceSlices) {
		ck.countDevices(slice, cards.Attributes, warn)
	}
}

// countNode counts the cards of a node, which has the defaults of the API server.
func (ck *checker) countNode(node *v1.Node, labels card.Labels, warn bool) {
	inventory := card.OnNode(node, labels)
	for _, c := range inventory.Cards {
		ck.addCards(c.Name, c.Milli.Cards(), engine.IsReady(node))
	}
	if !warn {
		return
	}

	for _, u := range inventory.Unlabeled {
		if card.IsRegistration(u.Label) {
			ck.report(Warning, node, "Node", annotation(u.Label),
				"%s has no cards: the node does not register them", u.Resource)
		} else {
			ck.report(Warning, node, "Node", "metadata.labels",
				"%s has no card name: the label %s is missing or bad", u.Resource, u.Label)
		}
	}
	ck.reportProblems(Warning, node, "Node", "", inventory.Problems)
}

// countDevices counts the cards that are devices of a ResourceSlice. It warns of the first device without a name.
func (ck *checker) countDevices(slice *resourcev1.ResourceSlice, attributes card.Attributes, warn bool) {
	for _, d := range attributes.Devices([]*resourcev1.ResourceSlice{slice}) {
		if d.Card != "" {
			ck.addCards(d.Card, 1, true)
		} else if warn {
			warn = false
			ck.report(Warning, slice, "ResourceSlice", "spec.devices",
				"device %s has no card name: the attribute %s is missing or bad", d.Name, d.Missing)
		}
	}
}

// addCards adds a number of cards to the stock of the card and of its groups.
func (ck *checker) addCards(name string, n float64, ready bool) {
	ck.stock[name] += n
	ck.groups.Add(ck.stock, name, n)
	if ready {
		ck.ready[name] += n
		ck.groups.Add(ck.ready, name, n)
	}
}

// cardKeys are the annotations of queues that bound all of their jobs.
var cardKeys = []string{card.QuotaKey, card.DeservedKey, card.GuaranteeKey}

// allCardKeys are the annotations of queues that name cards.
var allCardKeys = append(slices.Clone(cardKeys), card.HolderKey, card.BudgetKey, policy.SoftQuotaKey)

// namesCards reports whether a queue bounds its jobs by cards.
func namesCards(q *scheduling.Queue) bool {
	return slices.ContainsFunc(cardKeys, func(key string) bool { _, given := q.Annotations[key]; return given })
}

func annotation(key string) string { return "metadata.annotations[" + key + "]" }

// checkAnnotations reads the JSON of card annotations, key by key.
func (ck *checker) checkAnnotations(q *scheduling.Queue) {
	quota := ck.amounts(q.Name, card.QuotaKey)
	for _, key := range cardKeys {
		text, given := q.Annotations[key]
		if !given {
			continue
		}

		_, problems := card.ParseAmounts(text)
		for _, p := range problems {
			ck.report(Error, q, "Queue", annotation(key), "%s", p)
		}
		if key == card.QuotaKey {
			continue
		}

		own := ck.amounts(q.Name, key)
		for _, name := range slices.Sorted(maps.Keys(own)) {
			most, bounded := quota[name]
			switch {
			case !bounded && ck.tree.IsLeaf(ck.tree.Lookup(q.Name)):
				ck.noEffect(q, annotation(key), "%q has no quota, so it counts for nothing%s",
					name, index.DidYouMean(name, slices.Sorted(maps.Keys(quota))))
			case bounded && own[name] > most:
				ck.noEffect(q, annotation(key), "%q is %d, more than its quota of %v", name, int64(own[name]), most)
			}
		}
	}

	for field, list := range boundsOf(q) {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if quantity := list[name]; quantity.Sign() < 0 {
				ck.report(Error, q, "Queue", field+"."+string(name), "%s is negative", quantity.String())
			}
		}
	}
}

// boundsOf returns the bounds of resources in the spec of a queue, by field.
func boundsOf(q *scheduling.Queue) map[string]v1.ResourceList {
	return map[string]v1.ResourceList{
		"spec.capability":         q.Spec.Capability,
		"spec.deserved":           q.Spec.Deserved,
		"spec.guarantee.resource": q.Spec.Guarantee.Resource,
	}
}

// amounts returns the entries of an annotation of a queue, without bad entries. A share is the number that it is, NaN
// where there are no nodes. A queue without an object has none.
func (ck *checker) amounts(queue, key string) map[string]float64 {
	q := ck.queues[queue]
	if q == nil {
		return nil
	}
	all := engine.Cards(q.Annotations[key])
	maps.Copy(all, ck.numbers[stated{queue, key}])
	return all
}
