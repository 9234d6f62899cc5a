package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// checkClasses finds queues from which inference takes nothing, where service classes let it take
// from training: the guarantee of a card defaults to the quota. A queue with jobs of training is a
// mistake, most likely. A queue without jobs may be one for inference.
func (ck *checker) checkClasses(c *engine.Configuration, w *engine.World) {
	for _, tier := range c.Tiers {
		for _, option := range tier.Plugins {
			if classOf := inspect.ServiceTypes(option.Name, option.Arguments); classOf != nil {
				below := ck.classesBelow(w, classOf)
				for _, q := range ck.objects.Queues {
					ck.checkGuaranteeOf(q, below[q.Name])
				}
			}
		}
	}
}

// classesBelow returns the service classes of the jobs in each queue, and in all queues below it.
func (ck *checker) classesBelow(w *engine.World, classOf func(map[string]string, *v1.Pod) string) map[string]map[string]bool {
	below := map[string]map[string]bool{}
	for _, g := range w.Groups {
		if g.Over() {
			continue
		}
		pods := slices.Concat(g.Pods, g.Coming)
		if len(pods) == 0 {
			pods = []*v1.Pod{{}}
		}
		for _, pod := range pods {
			class := classOf(g.Annotations, pod)
			if class == "" {
				continue
			}
			for _, q := range ck.pathOf(g.Spec.Queue) {
				if below[q] == nil {
					below[q] = map[string]bool{}
				}
				below[q][class] = true
			}
		}
	}
	return below
}

// pathOf returns the names of a queue and of those above it, none for an unknown queue.
func (ck *checker) pathOf(name string) (names []string) {
	if q := ck.tree.Lookup(name); q != index.None {
		for _, p := range ck.tree.Path(q) {
			names = append(names, ck.tree.Name(p))
		}
	}
	return names
}

func (ck *checker) checkGuaranteeOf(q *scheduling.Queue, classes map[string]bool) {
	quota, guarantee := amounts(q, card.QuotaKey), amounts(q, card.GuaranteeKey)
	var kept []string
	for _, name := range slices.Sorted(maps.Keys(quota)) {
		if _, set := guarantee[name]; !set && quota[name] > 0 {
			kept = append(kept, fmt.Sprintf("%q", name))
		}
	}
	unreclaimable := q.Spec.Reclaimable != nil && !*q.Spec.Reclaimable
	if len(kept) == 0 || unreclaimable || classes[policy.Inference] && !classes[policy.Training] {
		return
	}
	severity, who := Note, "from the queue, if its jobs are of training"
	if classes[policy.Training] {
		severity, who = Warning, "from the jobs of training in the queue"
	}
	ck.report(severity, q, "Queue", annotation(card.QuotaKey), "%s does not name %s, and defaults to the quota: inference takes none %s",
		card.GuaranteeKey, strings.Join(kept, ", "), who)
}
