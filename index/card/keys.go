package card

import (
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/index"
)

// Keys are the annotations that a kind of object can have.
type Keys []string

// The annotations by object. Volcano copies the annotations of a job, or of a pod without a job, to the PodGroup.
var (
	QueueKeys = Keys{
		QuotaKey, DeservedKey, GuaranteeKey, HolderKey, BudgetKey, StatusKey, index.PathKey, index.WeightsKey,
	}
	JobKeys = Keys{RequestKey}
	PodKeys = Keys{NameKey, nameAlias, RequestKey}
	// PodGroupKeys has the annotations of pods, and the one that the scheduler writes on PodGroups.
	PodGroupKeys = append(PodKeys[:len(PodKeys):len(PodKeys)], ReasonKey)
)

// Prefix begins the names of all annotations of cards.
const Prefix = "volcano.sh/card"

// prefixes begin the names of the annotations that this module reads. Another annotation with such a prefix
// is a mistake, because it has no effect.
var prefixes = []string{Prefix, index.PathKey}

// Unknown returns the keys of annotations that have a prefix of this module and are not
// among keys, in order. Problem.Key is the key of the annotation.
func (k Keys) Unknown(annotations map[string]string) []Problem {
	var problems []Problem
	for key := range annotations {
		ours := slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
		if ours && !slices.Contains(k, key) {
			problems = append(problems, Problem{Key: key, Reason: k.reason(key)})
		}
	}

	slices.SortFunc(problems, func(x, y Problem) int { return strings.Compare(x.Key, y.Key) })

	return problems
}

// reason names the object that can have the annotation, or the annotation that was most
// likely meant.
func (k Keys) reason(key string) string {
	switch {
	case slices.Contains(QueueKeys, key):
		return "is an annotation of queues and has no effect here"
	case slices.Contains(JobKeys, key):
		return "is an annotation of jobs and has no effect here"
	case slices.Contains(PodKeys, key):
		return "is an annotation of pods and has no effect here"
	}

	now := Renamed(key)
	if now != "" {
		return now
	}
	return "is unknown and has no effect" + index.DidYouMean(key, k)
}

// renamed has what stands for the former names of annotations of queues.
var renamed = map[string]string{
	"volcano.sh/card.quota.namespace":  HolderKey + `: {"namespace": {"*": {"NVIDIA-H200": 8}}}`,
	"volcano.sh/capability.namespace":  HolderKey + `: {"namespace": {"*": {"cpu": "64"}}}`,
	"volcano.sh/preempt-min-runtime":   "volcano.sh/min-runtime: preempt=TIME",
	"volcano.sh/reclaim-budget":        "volcano.sh/eviction-budget: take=N/LENGTH",
	"volcano.sh/fair-share.namespaces": "volcano.sh/fair-share: namespaces",
	"volcano.sh/fair-share-weight":     "volcano.sh/fair-share: weight=NUMBER",
	"volcano.sh/fair-share-hold":       "volcano.sh/order: nodes=TIME",
}

// Renamed returns the end of a sentence that begins with the former name of an annotation, such as "is
// volcano.sh/order: nodes=TIME now", and "" for any other name.
func Renamed(key string) string {
	now, was := renamed[key]
	if !was {
		return ""
	}
	return "is " + now + " now"
}
