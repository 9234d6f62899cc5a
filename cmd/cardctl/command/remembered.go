package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/override"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/store"
)

// wrongQueues returns the queues of a cluster with wrong annotations. The scheduler may use their last good values. A
// queue of a manifest has no UID, and had no values before.
func wrongQueues(from *input.Objects) (all []*scheduling.Queue) {
	for _, q := range from.Queues {
		if q.UID != "" && len(wrongKeys(q.Annotations)) > 0 {
			all = append(all, q)
		}
	}
	return all
}

// wrongKeys returns the annotations of a queue that are wrong, in order.
func wrongKeys(annotations map[string]string) (keys []string) {
	for _, key := range []string{card.QuotaKey, card.DeservedKey, card.GuaranteeKey} {
		text, given := annotations[key]
		if _, problems := card.ParseAmounts(text); given && len(problems) > 0 {
			keys = append(keys, key)
		}
	}

	_, wrong := policy.Parse(annotations)
	for _, w := range wrong {
		keys = append(keys, w.Key)
	}

	text, given := annotations[override.Key]
	if _, problems := override.Parse(text); given && len(problems) > 0 {
		keys = append(keys, override.Key)
	}
	return keys
}

// movedPods returns the pods on nodes that do not state their cards any more, or that are gone. The scheduler charges
// them for the cards that the node had.
func movedPods(from *input.Objects, labels card.Labels) (all []*v1.Pod) {
	if len(from.Nodes) == 0 {
		return nil
	}

	stated := map[string]card.Inventory{}
	for _, node := range from.Nodes {
		stated[node.Name] = card.OnNode(node, labels)
	}

	for _, pod := range from.Pods {
		_, grouped := pod.Annotations[scheduling.KubeGroupNameAnnotationKey]
		ended := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
		if pod.UID == "" || pod.Spec.NodeName == "" || !grouped || ended {
			continue
		}

		names := card.NameOf(pod.Annotations)
		on, exists := stated[pod.Spec.NodeName]
		has := func(c card.Card) bool { return slices.Contains(names, c.Name) }
		switch {
		case len(names) > 0 && exists && !slices.ContainsFunc(on.Cards, has),
			len(names) > 1 && !exists: // a pod that names one card is charged for it
			all = append(all, pod)
		}
	}
	return all
}

// evictedPods returns the evicted pods that have not ended, and the nodes on which evictions make room for other pods.
func evictedPods(from *input.Objects) (ending []*v1.Pod, nominated sets.Set[string]) {
	nominated = sets.New[string]()
	evicted := func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Reason == "Evict" } // Volcano's
	for _, pod := range from.Pods {
		switch {
		case pod.UID == "":
		case pod.Spec.NodeName == "" && pod.Status.NominatedNodeName != "":
			nominated.Insert(pod.Status.NominatedNodeName)
		case pod.DeletionTimestamp != nil && slices.ContainsFunc(pod.Status.Conditions, evicted):
			ending = append(ending, pod)
		}
	}
	return ending, nominated
}

// remembered returns the last good values, held cards and earmarks that the scheduler has saved. Where there are none,
// why is the reason.
func remembered(stored *store.Stored, lacks string) (known *store.Remembered, why string) {
	known = &store.Remembered{}
	switch {
	case stored == nil:
		return known, lacks
	case stored.Record.Remembered == nil:
	case stored.Record.Remembered.Version != store.RememberedVersion:
		return known, "a later release has saved them"
	default:
		known = stored.Record.Remembered
	}
	return known, "the scheduler has not saved them"
}

// warnUnknown warns of a fact that the answers leave out.
func (s *source) warnUnknown(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	s.unknown = append(s.unknown, text)
	s.warning("%s", text)
}

// sayMoved writes to stderr that the cards of some pods are not known.
func (s *source) sayMoved(moved []*v1.Pod, known *store.Remembered, why string) {
	unknown := slices.DeleteFunc(moved, func(pod *v1.Pod) bool { return known.Pods[pod.UID] != nil })
	if len(unknown) == 0 {
		return
	}
	if s.heard != nil { // by viewers who may not see the names of pods and nodes
		s.warnUnknown("pods on nodes that do not state their cards, or that are gone: %d. "+
			"The scheduler may charge them for the cards that the node had, which are not known: %s", len(unknown), why)
		return
	}

	s.warnUnknown("pods on nodes that do not state their cards, or that are gone: %d, such as %s/%s on node %s. "+
		"The scheduler may charge them for the cards that the node had, which are not known: %s",
		len(unknown), unknown[0].Namespace, unknown[0].Name, unknown[0].Spec.NodeName, why)
}

// sayEvicted writes to stderr that the pods are not known that some evicted pods leave their room to.
func (s *source) sayEvicted(ending []*v1.Pod, nominated sets.Set[string], known *store.Remembered, why string) {
	saved := sets.New[api.TaskID]()
	for _, job := range known.Earmarks {
		saved = saved.Union(sets.KeySet(job.Victims))
	}
	unknown := slices.DeleteFunc(ending, func(pod *v1.Pod) bool {
		return saved.Has(api.TaskID(pod.UID)) || nominated.Has(pod.Spec.NodeName)
	})
	if len(unknown) == 0 {
		return
	}
	if s.heard != nil { // by viewers who may not see the names of pods and nodes
		s.warnUnknown("evicted pods that have not ended: %d. The scheduler may keep their room "+
			"for the pods that they were evicted for, which are not known: %s", len(unknown), why)
		return
	}

	s.warnUnknown("evicted pods that have not ended: %d, such as %s/%s on node %s. "+
		"The scheduler may keep their room for the pods that they were evicted for, which are not known: %s",
		len(unknown), unknown[0].Namespace, unknown[0].Name, unknown[0].Spec.NodeName, why)
}

// sayRemembered writes to stderr which last good values count, and the queues without known values. why is the reason
// for unknown values.
func (s *source) sayRemembered(wrong []*scheduling.Queue, known *store.Remembered, why string) {
	for _, q := range wrong {
		kept, has := known.Queues[q.Name]
		if !has || kept.UID != q.UID {
			s.warnUnknown("queue %s: wrong annotations count as not set: %s. "+
				"The scheduler may use their last good values, which are not known: %s",
				q.Name, strings.Join(wrongKeys(q.Annotations), ", "), why)
			continue
		}

		for _, key := range slices.Sorted(maps.Keys(kept.Annotations)) {
			s.note("queue %s: %s is wrong, and its last good value counts: %s",
				q.Name, key, index.Shorten(kept.Annotations[key], 100))
		}
		for _, key := range wrongKeys(q.Annotations) {
			if kept.Annotations[key] == "" {
				s.warning("queue %s: %s is wrong, and counts as not set: it never had a good value", q.Name, key)
			}
		}
	}
}
