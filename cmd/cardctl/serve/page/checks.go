package page

// checks describes the checks of an audit.
var checks = map[string]string{
	"UnusedQuota":       "a quota of which hardly anything was used",
	"IdleGuarantee":     "a guarantee of which more than half idles, and nobody else can use it",
	"OnlyBorrows":       "a queue that has a card and deserves none",
	"Sums":              "deserved amounts and guarantees that add up to more than there is",
	"OverlappingGroups": "groups of cards that have cards in common",
	"NeverApplies":      "policies and values that decide nothing",
}
