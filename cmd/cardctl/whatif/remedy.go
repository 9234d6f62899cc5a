package whatif

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	schedulerconf "volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// mostRemedies bounds the changes that are tried for one job.
const mostRemedies = 8

// remedy is a change that may let a job start.
type remedy struct {
	what  string // in words, for the end of "with …"
	apply func(w *engine.World, c *engine.Configuration) error
}

// Explain explains one job, or a few: explain.Jobs with the next cycles. For each job that they do not start, it tries
// small changes on copies of the world, one after the other, until one of them lets the job start.
func Explain(
	ctx context.Context, w *engine.World, c *engine.Configuration, o explain.Options,
) ([]explain.Finding, error) {
	before := w.Clone()
	o.Ahead = true
	findings, err := explain.Jobs(ctx, w, c, o)
	if err != nil {
		return nil, err
	}

	for i := range findings {
		f := &findings[i]
		if f.State != explain.Waiting || len(f.Evicts) > 0 || !explain.Small(before) {
			continue
		}
		if err := addRemedy(ctx, before, c, f); err != nil {
			return nil, err
		}
	}
	return findings, nil
}

// addRemedy adds the first change that lets a job start to its finding.
func addRemedy(ctx context.Context, w *engine.World, c *engine.Configuration, f *explain.Finding) error {
	all := remedies(w, f)
	for _, r := range all[:min(len(all), mostRemedies)] {
		starts, evicted, err := r.try(ctx, w, c, f)
		if err != nil {
			return err
		}
		if starts {
			f.SetRemedy(r.what, evicted)
			return nil
		}
	}
	return nil
}

// try reports whether a job starts with a change, and how many pods are evicted for it.
func (r remedy) try(
	ctx context.Context, w *engine.World, c *engine.Configuration, f *explain.Finding,
) (starts bool, evicted int, err error) {
	changed := w.Clone()
	then := *c
	if err := r.apply(changed, &then); err != nil {
		return false, 0, nil // the change is not possible
	}

	events, err := engine.Ahead(ctx, changed, &then, func(*engine.Session) {})
	id := f.Namespace + "/" + f.Name
	placed := 0
	for _, e := range events {
		switch own := e.Group == id; {
		case own && e.Kind == engine.Placed:
			placed++
		case own && e.Kind == engine.Evicted:
			placed--
		case e.Kind == engine.Evicted && e.For != nil && e.For.Group == id:
			evicted++
		}
	}
	return placed >= max(1, f.Pods.Minimum-f.Pods.Placed), evicted, err
}

// remedies returns the changes that may let a job start, the smallest first.
func remedies(w *engine.World, f *explain.Finding) (all []remedy) {
	all = append(all, waits(f)...)
	all = append(all, raises(w, f)...)
	if f.Claim != nil {
		for _, s := range f.Claim.Spared {
			all = append(all, lifts(w, f, s)...)
		}
		all = append(all, deserves(w, f)...)
	}
	all = slices.CompactFunc(all, func(a, b remedy) bool { return a.what == b.what })

	if f.Rule == explain.NodesFull && f.Verdict != nil && f.Verdict.Kind == explain.Never {
		all = append(all, nodes(w, f)...)
	}
	return all
}

// waits returns the times at which policies protect fewer pods.
func waits(f *explain.Finding) (all []remedy) {
	if f.Claim == nil {
		return nil
	}
	for _, s := range f.Claim.Spared {
		if s.Until == nil {
			continue
		}
		what := "time until " + format.Minute(*s.Until)
		all = append(all, remedy{what, func(_ *engine.World, c *engine.Configuration) error {
			c.At = *s.Until
			return nil
		}})
	}
	slices.SortFunc(all, func(a, b remedy) int { return cmp.Compare(a.what, b.what) })
	return all
}

// raises returns changes of quotas that make room for a job: for each resource, in all queues that bound it, and then
// for all resources together. One resource is enough for a pod that can take any of several, such as A|B.
func raises(w *engine.World, f *explain.Finding) (all []remedy) {
	byResource := map[string][]report.Shortage{}
	var resources []string
	bounds := f.Bounds
	if len(bounds) == 0 && f.Reason != nil {
		bounds = f.Reason.Shortages // of the alternatives of a list
	}
	for _, s := range bounds {
		if s.Against != "capability" || math.IsInf(s.Total, 1) || f.Rule != report.OverQuota {
			return nil
		}
		queue := w.Queue(s.Queue)
		if queue == nil || engine.Cards(queue.Annotations[card.QuotaKey])[s.Resource] >= s.Total {
			continue // it inherits the bound
		}
		if byResource[s.Resource] == nil {
			resources = append(resources, s.Resource)
		}
		byResource[s.Resource] = append(byResource[s.Resource], s)
	}

	var together []report.Shortage
	for _, resource := range resources {
		all = append(all, raise(w, byResource[resource]))
		together = append(together, byResource[resource]...)
	}
	if len(resources) > 1 {
		all = append(all, raise(w, together))
	}
	return all
}

// Raise returns the setting that raises the bound of a shortage as much as the request needs. ok is false for a bound
// that no setting raises.
func Raise(o *input.Objects, s report.Shortage) (setting string, ok bool) {
	i := slices.IndexFunc(o.Queues, func(queue *v1beta1.Queue) bool { return queue.Name == s.Queue })
	switch {
	case i < 0:
		return "", false
	case s.Against == "capability":
		return settingOf(s, o.Queues[i].Spec.Capability), true
	case s.Against == "deserved":
		return settingOf(s, o.Queues[i].Spec.Deserved), true
	}
	return "", false
}

// settingOf returns the setting of Raise. spec has the bounds in the spec of the queue. A resource in it is no card.
func settingOf(s report.Shortage, spec v1.ResourceList) string {
	field := "cards."
	_, inSpec := spec[v1.ResourceName(s.Resource)]
	switch {
	case inSpec, s.Resource == "cpu", s.Resource == "memory":
		field = s.Against + "."
	case s.Against == "deserved":
		field = "deservedCards."
	}

	value := fmt.Sprintf("%.0f", math.Ceil(s.Total))
	if s.Resource == "cpu" {
		value = explain.Amount("cpu", s.Total)
	}
	return "queue/" + s.Queue + ":" + field + s.Resource + "=" + value
}

// raise returns the change of the quotas of some bounds.
func raise(w *engine.World, bounds []report.Shortage) remedy {
	var settings, words []string
	for _, s := range bounds {
		settings = append(settings, settingOf(s, w.Queue(s.Queue).Spec.Capability))
		words = append(words,
			fmt.Sprintf("a quota of %s %s in queue %s", explain.Amount(s.Resource, s.Total), s.Resource, s.Queue))
	}
	return remedy{strings.Join(words, " and "), setting(settings...)}
}

// rate matches the number of an eviction budget.
var rate = regexp.MustCompile(`^((?:.*,)?(?:lose=)?)(\d+)(/.*)$`)

// lifts returns the changes by which pods are spared no more.
func lifts(w *engine.World, f *explain.Finding, s explain.Spared) (all []remedy) {
	queue := w.Queue(s.Queue)
	if queue == nil {
		return nil
	}

	needed := f.Claim.Needed
	key, isPolicy := s.Policy()
	switch {
	case isPolicy && key == policy.EvictionBudget:
		found := rate.FindStringSubmatch(queue.Annotations[policy.EvictionBudgetKey])
		if found == nil {
			return nil
		}
		most, _ := strconv.Atoi(found[2])
		for _, n := range []int{needed, most + needed} {
			if n > most {
				value := found[1] + strconv.Itoa(n) + found[3]
				all = append(all, policyOf(s.Queue, policy.EvictionBudgetKey, value))
			}
		}
	case isPolicy && key == policy.MinRuntime:
		all = append(all, policyOf(s.Queue, policy.MinRuntimeKey, "reclaim=0s"))
	case isPolicy && key == policy.ReclaimFence:
		all = append(all, policyOf(s.Queue, policy.ReclaimFenceKey, ""))
	case s.By == inspect.ByMinimum:
		all = append(all, wholeGangs())
	case s.By == inspect.ByQueue:
		what := "reclaimable: true of queue " + s.Queue
		all = append(all, remedy{what, setting("queue/" + s.Queue + ":reclaimable=true")})
	case s.By == inspect.ByGuarantee:
		all = append(all, guarantees(queue.Annotations, f, s)...)
	}
	return all
}

// policyOf returns the change of a policy of a queue. An empty value removes it.
func policyOf(queue, key, value string) remedy {
	what := fmt.Sprintf("%s: %s of queue %s", key, value, queue)
	if value == "" {
		what = fmt.Sprintf("queue %s without %s", queue, key)
	}
	return remedy{what, setting(fmt.Sprintf("queue/%s:%s=%s", queue, policy.Short(key), value))}
}

// guarantees returns the lower guarantees of a queue that leave a job the cards that it lacks.
func guarantees(annotations map[string]string, f *explain.Finding, s explain.Spared) (all []remedy) {
	for _, lack := range f.Claim.Cards {
		stated, set := engine.Cards(annotations[card.GuaranteeKey])[lack.Card]
		if !set {
			stated, set = engine.Cards(annotations[card.QuotaKey])[lack.Card] // the default
		}
		if n := stated - math.Ceil(lack.Cards); set && n >= 0 {
			amount := explain.Amount(lack.Card, n)
			what := fmt.Sprintf("%s of %s %s in queue %s", card.GuaranteeKey, amount, lack.Card, s.Queue)
			lower := fmt.Sprintf("queue/%s:guaranteeCards.%s=%.0f", s.Queue, lack.Card, n)
			all = append(all, remedy{what, setting(lower)})
		}
	}
	return all
}

// deserves returns the change by which the queue of a job deserves the cards that the job lacks.
func deserves(w *engine.World, f *explain.Finding) []remedy {
	queue := w.Queue(f.Queue)
	if queue == nil || f.Claim.Refused == nil || f.Claim.Refused.Rule != report.OverDeserved {
		return nil
	}

	for _, s := range f.Claim.Refused.Shortages {
		quota, set := engine.Cards(queue.Annotations[card.QuotaKey])[s.Resource]
		if n := math.Ceil(s.Total); set && n <= quota && s.Queue == f.Queue {
			amount := explain.Amount(s.Resource, n)
			what := fmt.Sprintf("%s of %s %s in queue %s", card.DeservedKey, amount, s.Resource, f.Queue)
			return []remedy{{what, setting(fmt.Sprintf("queue/%s:deservedCards.%s=%.0f", f.Queue, s.Resource, n))}}
		}
	}
	return nil
}

// setting returns the changes of settings.
func setting(settings ...string) func(*engine.World, *engine.Configuration) error {
	return func(w *engine.World, _ *engine.Configuration) error {
		for _, s := range settings {
			if err := Set(w, s); err != nil {
				return err
			}
		}
		return nil
	}
}

// wholeGangs returns the change of the argument that lets reclaim take jobs as a whole.
func wholeGangs() remedy {
	what := fmt.Sprintf("the argument %s: %s", arguments.ReclaimGangs, arguments.GangsWhole)
	return remedy{what, func(_ *engine.World, c *engine.Configuration) error {
		c.Tiers = slices.Clone(c.Tiers)
		for t, tier := range c.Tiers {
			c.Tiers[t].Plugins = slices.Clone(tier.Plugins)
			for p, option := range tier.Plugins {
				if option.Name == c.Plugin {
					c.Tiers[t].Plugins[p] = withArgument(option, arguments.ReclaimGangs, string(arguments.GangsWhole))
				}
			}
		}
		return nil
	}}
}

// withArgument returns a plugin of a configuration with another argument.
func withArgument(option schedulerconf.PluginOption, key, value string) schedulerconf.PluginOption {
	given := framework.Arguments(maps.Clone(option.Arguments))
	if given == nil {
		given = framework.Arguments{}
	}
	given[key] = value
	option.Arguments = given
	return option
}

// nodes returns the change by which the cluster has as many nodes with the cards of a job as it needs. There is none if
// the next cycles would take too long with so many nodes.
func nodes(w *engine.World, f *explain.Finding) []remedy {
	var like *v1.Node
	n := 0
	for _, node := range w.Nodes {
		suits := slices.ContainsFunc(card.OnNode(node, nil).Cards, func(c card.Card) bool {
			return slices.Contains(f.Cards, c.Name)
		})
		if suits {
			like = node
			n++
		}
	}
	fit := f.Verdict.Fit
	if like == nil || fit == 0 {
		return nil
	}

	// Pods that the controller creates later wait, too. The product may be too large for an int.
	more := int(math.Ceil(float64(f.Pods.Minimum-fit) / (float64(fit) / float64(n))))
	pods := max(explain.Pending(w), f.Pods.Minimum)
	if float64(pods)*float64(len(w.Nodes)+more) > explain.MostTried {
		return nil
	}

	what := fmt.Sprintf("%d more nodes that have such cards", more)
	return []remedy{{what, func(w *engine.World, _ *engine.Configuration) error {
		for i := range more {
			node := like.DeepCopy()
			node.Name = fmt.Sprintf("%s-more-%d", like.Name, i)
			node.UID = types.UID(node.Name)
			metav1.SetMetaDataLabel(&node.ObjectMeta, v1.LabelHostname, node.Name)
			w.Nodes = append(w.Nodes, node)
		}
		return nil
	}}}
}
