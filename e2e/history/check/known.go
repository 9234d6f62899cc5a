package check

// The known defects that are not fixed yet. They excuse a breach of a rule, and the report counts them. Remove a line
// together with its defect. Then the rule holds without the excuse.
const (
	// newNode: a node is deleted and created again under the same name. Volcano's cache of the new node lacks the pods
	// that were bound before, so it gives their cards to others. If cards count, the plugin finds the pods with a
	// PodGroup.
	newNode = "not mended: Volcano forgets the pods of a node that is deleted and created again"
)
