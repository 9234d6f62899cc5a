package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// checkClasses finds queues from which inference takes nothing, where service classes let it take from training: the
// guarantee of a card defaults to the quota. For a queue with jobs of training, that is most likely a mistake. A queue
// without jobs may be a queue for inference.
func (ck *checker) checkClasses(c *engine.Configuration, w *engine.World) {
	classOf := inspect.ServiceTypes(c.Plugin, c.Arguments)
	if classOf == nil {
		return
	}

	classes := ck.classes(w, classOf)
	for _, q := range ck.objects.Queues {
		training := classes.Has(queueClass{q.Name, policy.Training})
		inference := classes.Has(queueClass{q.Name, policy.Inference})
		if training || !inference {
			ck.checkGuarantee(q, training)
		}
	}
}

// queueClass is the service class of a job in a queue, or below it.
type queueClass struct{ queue, class string }

// classes returns the service classes of the jobs by their queues and the queues above.
func (ck *checker) classes(
	w *engine.World, classOf func(annotations map[string]string, pod *v1.Pod) string,
) sets.Set[queueClass] {
	all := sets.New[queueClass]()
	for _, g := range w.Groups {
		q := ck.tree.Lookup(g.Spec.Queue)
		if g.Over() || q == index.None {
			continue
		}

		pods := slices.Concat(g.Pods, g.Coming)
		if len(pods) == 0 {
			pods = []*v1.Pod{{}} // the annotations of the group decide
		}
		for _, pod := range pods {
			for _, p := range ck.tree.Path(q) {
				all.Insert(queueClass{ck.tree.Name(p), classOf(g.Annotations, pod)})
			}
		}
	}
	return all
}

// checkGuarantee reports the cards of a queue that are guaranteed by default.
func (ck *checker) checkGuarantee(q *scheduling.Queue, training bool) {
	guarantee := ck.amounts(q.Name, card.GuaranteeKey)
	quota := ck.amounts(q.Name, card.QuotaKey)
	n := ck.tree.Lookup(q.Name)

	var kept []string
	for _, name := range slices.Sorted(maps.Keys(quota)) {
		if _, set := guarantee[name]; !set && quota[name] > 0 && !ck.guarantees.Yields(n, name) {
			kept = append(kept, fmt.Sprintf("%q", name))
		}
	}

	if len(kept) == 0 || !ptr.Deref(q.Spec.Reclaimable, true) {
		return
	}

	severity := Note
	who := "from the queue, if its jobs are of training"
	if training {
		severity = Warning
		who = "from the jobs of training in the queue"
	}
	ck.report(severity, q, "Queue", annotation(card.QuotaKey),
		"%s does not name %s, and defaults to the quota: inference takes none %s",
		card.GuaranteeKey, strings.Join(kept, ", "), who)
}
