// Package validate checks queues, cards and jobs, in manifests before they are applied
// or in a cluster.
package validate

import (
	"cmp"
	"context"
	"fmt"
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

// The severities. For an error the scheduler refuses something. A warning is most
// likely a mistake. A note is allowed, and worth knowing.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

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
	objects *input.Objects
	now     time.Time // of the configuration, or that of the clock
	queues  map[string]*scheduling.Queue
	tree    *index.Tree
	places  *index.Places      // of the annotations of queues; nil where parents make the tree
	stock   map[string]float64 // cards of the nodes, whole, and groups of them
	groups  card.Groups
	issues  []Issue
}

// Check returns the issues of objects, errors first in each file, or the error of ctx. If there
// are nodes among the objects, it also finds jobs that cannot run even on an empty cluster.
func Check(ctx context.Context, o *input.Objects, c *engine.Configuration) (*Result, error) {
	k := &checker{objects: o, now: c.At, queues: map[string]*scheduling.Queue{}, stock: map[string]float64{}}
	if c.At.IsZero() {
		k.now = time.Now()
	}
	for severity, problems := range map[Severity][]input.Problem{Error: slices.Concat(o.Problems, o.Unknown, o.Invalid),
		Warning: slices.Concat(o.Repeated, o.Newer)} {
		for _, p := range problems {
			k.issues = append(k.issues, Issue{Source: p.Source, Severity: severity, Object: p.Object, Field: p.Field, Message: p.Message})
		}
	}
	for _, q := range o.Queues {
		k.queues[q.Name] = q
	}
	k.checkConfiguration(c)
	k.checkLending(c)
	k.checkJobs()
	k.checkRequests()
	k.checkKeys()
	k.checkUncounted(c)
	world, err := engine.Build(o)
	if err != nil {
		return nil, err
	}
	k.tree, k.places = world.Tree(c)
	k.groups = c.CardGroups()
	k.countStock(c.CardLabels(), k.cardsCount(c))
	k.countDevices(c.CardAttributes(), k.cardsCount(c))
	for _, q := range o.Queues {
		k.checkPlace(q)
		k.checkSpec(q)
		k.checkAnnotations(q)
		k.checkAgainstParent(q)
		k.checkCards(q)
		k.checkSoftQuota(q)
		k.checkGroups(q)
	}
	k.checkSums()
	r := &Result{Sums: k.sums(), Overlaps: k.overlaps()}
	k.checkOversubscription(r.Sums)
	for _, out := range world.LeftOut {
		k.report(Warning, out.Object, out.Kind, "", "%s", out.Problem())
	}
	k.checkClasses(c, world)
	if err := k.checkWorkloads(ctx, c, world); err != nil {
		return nil, err
	}
	rank := []Severity{Error, Warning, Note}
	slices.SortStableFunc(k.issues, func(a, b Issue) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(slices.Index(rank, a.Severity), slices.Index(rank, b.Severity)),
			cmp.Compare(a.Line, b.Line))
	})
	r.Issues = k.issues
	return r, nil
}

// report adds an issue, which the caller may complete before the next one.
func (ck *checker) report(severity Severity, object metav1.Object, kind, field, format string, arguments ...any) *Issue {
	name := kind + "/" + object.GetName()
	if object.GetNamespace() != "" && object.GetNamespace() != metav1.NamespaceDefault {
		name = kind + "/" + object.GetNamespace() + "/" + object.GetName()
	}
	ck.issues = append(ck.issues, Issue{Source: ck.objects.SourceOfField(object, field), Severity: severity, Object: name, Field: field,
		Message: fmt.Sprintf(format, arguments...)})
	return &ck.issues[len(ck.issues)-1]
}

// cardsCount reports whether cards count in some queue.
func (ck *checker) cardsCount(c *engine.Configuration) bool {
	return c.Plugin == plugin.Name || slices.ContainsFunc(ck.objects.Queues, func(q *scheduling.Queue) bool {
		return slices.ContainsFunc(cardKeys, func(key string) bool { _, given := q.Annotations[key]; return given })
	})
}

// countStock counts the cards of the nodes. A resource without a card name matters where cards
// count.
func (ck *checker) countStock(labels card.Labels, warn bool) {
	for _, node := range ck.objects.Nodes {
		if node.Status.Allocatable == nil {
			node = node.DeepCopy()
			node.Status.Allocatable = node.Status.Capacity
		}
		inventory := card.OnNode(node, labels)
		for _, c := range inventory.Cards {
			ck.stock[c.Name] += c.Milli.Cards()
			ck.groups.Add(ck.stock, c.Name, c.Milli.Cards())
		}
		for _, u := range inventory.Unlabeled {
			if !warn {
				continue
			}
			if card.IsRegistration(u.Label) {
				ck.report(Warning, node, "Node", annotation(u.Label), "%s has no cards: the node does not register them", u.Resource)
			} else {
				ck.report(Warning, node, "Node", "metadata.labels", "%s has no card name: the label %s is missing or bad", u.Resource, u.Label)
			}
		}
		for _, p := range inventory.Problems {
			if warn {
				ck.report(Warning, node, "Node", annotation(p.Key), "%s", p.Reason)
			}
		}
	}
}

// countDevices counts the cards that are devices of ResourceSlices. A device without a card name matters where cards
// count.
func (ck *checker) countDevices(attributes card.Attributes, warn bool) {
	warned := map[string]bool{}
	for _, slice := range card.CurrentSlices(ck.objects.ResourceSlices) {
		for _, d := range attributes.Devices([]*resourcev1.ResourceSlice{slice}) {
			if d.Card != "" {
				ck.stock[d.Card]++
				ck.groups.Add(ck.stock, d.Card, 1)
			} else if warn && !warned[slice.Name] {
				warned[slice.Name] = true
				ck.report(Warning, slice, "ResourceSlice", "spec.devices", "device %s has no card name: the attribute %s is missing or bad", d.Name, d.Missing)
			}
		}
	}
}

// cardKeys are the annotations of queues that bound all of their jobs.
var cardKeys = []string{card.QuotaKey, card.DeservedKey, card.GuaranteeKey}

// allCardKeys are the annotations of queues that name cards.
var allCardKeys = append(slices.Clone(cardKeys), card.NamespaceKey, card.HolderKey, card.BudgetKey, policy.SoftQuotaKey)

func annotation(key string) string { return "metadata.annotations[" + key + "]" }

// checkAnnotations reads the JSON of card annotations, key by key.
func (ck *checker) checkAnnotations(q *scheduling.Queue) {
	quota := amounts(q, card.QuotaKey)
	for _, key := range cardKeys {
		text, given := q.Annotations[key]
		if !given {
			continue
		}
		entries, problems := card.ParseQuota(text)
		for _, p := range problems {
			ck.report(Error, q, "Queue", annotation(key), "%s", p)
		}
		for _, e := range entries {
			most, bounded := quota[e.Name]
			switch {
			case key == card.QuotaKey:
			case !bounded && ck.tree.IsLeaf(ck.tree.Lookup(q.Name)):
				ck.report(Warning, q, "Queue", annotation(key), "%q has no quota, so it counts for nothing", e.Name).Topic = NoEffect
			case bounded && float64(e.Cards) > most:
				ck.report(Warning, q, "Queue", annotation(key), "%q is %d, more than its quota of %v", e.Name, e.Cards, most).Topic = NoEffect
			}
		}
	}
	for field, list := range boundsOf(q) {
		for _, name := range sortedNames(list) {
			if quantity := list[name]; quantity.Sign() < 0 {
				ck.report(Error, q, "Queue", field+"."+string(name), "%s is negative", quantity.String())
			}
		}
	}
}

// boundsOf returns the bounds of resources in the spec of a queue, by field.
func boundsOf(q *scheduling.Queue) map[string]v1.ResourceList {
	return map[string]v1.ResourceList{"spec.capability": q.Spec.Capability, "spec.deserved": q.Spec.Deserved,
		"spec.guarantee.resource": q.Spec.Guarantee.Resource}
}

// amounts returns the entries of an annotation, without bad entries.
func amounts(q *scheduling.Queue, key string) map[string]float64 {
	return engine.Cards(q.Annotations[key])
}

func sortedNames(list v1.ResourceList) []v1.ResourceName {
	var names []v1.ResourceName
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
