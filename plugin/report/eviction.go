package report

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Volcano writes the reason of an eviction into the condition and the event of the pod.
const (
	forJob  = ", for job "
	inQueue = " in queue "
)

// Claimant is the job that a pod is evicted for.
type Claimant struct {
	// Namespace and PodGroup name the job. Reasons have them for pods of the same namespace alone.
	Namespace, PodGroup string
	UID                 types.UID // of the PodGroup, where its name is not known
	Queue               string
}

// EvictionReason is the reason of an eviction by an action for a job. A pod of another namespace gets the UID of the
// PodGroup in place of its name: users of a namespace may not know the jobs of others, and administrators find it.
func EvictionReason(action string, c Claimant, namespace string) string {
	job := string(c.UID)
	if c.Namespace == namespace {
		job = c.Namespace + "/" + c.PodGroup
	}
	return action + forJob + job + inQueue + c.Queue
}

// ClaimantIn returns the job in a message with such a reason, and the text before it. It is nil for a message without
// a job.
func ClaimantIn(message string) (text string, c *Claimant) {
	text, rest, known := strings.Cut(message, forJob)
	if !known {
		return message, nil
	}

	job, queue, _ := strings.Cut(rest, inQueue)
	namespace, podGroup, named := strings.Cut(job, "/")
	if !named {
		return text, &Claimant{UID: types.UID(job), Queue: queue}
	}
	return text, &Claimant{Namespace: namespace, PodGroup: podGroup, Queue: queue}
}
