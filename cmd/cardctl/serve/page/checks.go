package page

// checks describes the checks of an audit.
var checks = map[string]string{
	"UnusedQuota":       "a quota that was hardly used",
	"IdleGuarantee":     "a guarantee that is more than half idle, and nobody else can use it",
	"OnlyBorrows":       "a queue that has a card and deserves none",
	"Sums":              "deserved amounts and guarantees that add up to more than there is",
	"OverlappingGroups": "groups of cards that have cards in common",
	"NeverApplies":      "policies and values that decide nothing",
}
