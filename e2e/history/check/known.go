package check

// What excuses a breach of a rule although nothing should: defects that are known and not mended yet. The report counts
// them. Remove a line with the defect: the rule then holds without it.
const (
	// newNode: Volcano's cache of a node that is made anew under the name of one that was deleted does not have the
	// pods that were bound before, so that it gives their cards to others. Where cards count, the plugin finds those
	// that have a PodGroup.
	newNode = "not mended: Volcano forgets the pods of a node that is deleted and made anew"
)
