package report

import "strings"

// Volcano writes the reason of an eviction into the condition and the event of the pod.
const (
	forJob  = ", for job "
	inQueue = " in queue "
)

// EvictionReason is the reason of an eviction by an action for a job, by the namespace and name of its PodGroup.
func EvictionReason(action, job, queue string) string { return action + forJob + job + inQueue + queue }

// ClaimantIn returns the parts of a message with such a reason: the text before the job, the namespace and name of the
// PodGroup of the job, and the queue. It is false for a message without a job.
func ClaimantIn(message string) (text, namespace, podGroup, queue string, known bool) {
	text, rest, known := strings.Cut(message, forJob)
	if !known {
		return message, "", "", "", false
	}
	job, queue, _ := strings.Cut(rest, inQueue)
	namespace, podGroup, _ = strings.Cut(job, "/")
	return text, namespace, podGroup, queue, true
}
