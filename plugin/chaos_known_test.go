package plugin

// known are invariants that do not hold yet, each with the reason. The runner prints
// them and does not check them.
var known = map[string]string{
	outlivesQueue: "a pod whose queue is deleted is not in the session, so its cards are forgotten if its node changes before the queue exists again",
	unlisted:      "elastic omits the card of a node with another label than the pod names, unless a session remembers it",
	otherCards:    "reclaim takes nothing from a queue that uses less of any card than is guaranteed to it, and a guarantee that is not set is the quota",
	preemptGain:   "preempt evicts pods for one without cards that its queue does not admit without them either",
	staleNodes:    "nodes are not read while no queue has a card annotation, so a pod that came meanwhile is charged for the card that its node had before",
	rootParent:    "Volcano panics when it closes a session in which a job of the root has pods and the parent does not exist",
	goneQueue:     "pods on lost nodes are looked for when a node leaves, and their job may not be in that session",
	gonePods:      "an account of pods alone counts as empty",
	notLentFlat:   "each flat queue is bounded by what the guarantees of the others leave, several together are not",
}

// unchecked reports whether an invariant does not hold yet, so that it is not checked.
func unchecked(invariant string) bool { return known[invariant] != "" && !*worldKnown }
