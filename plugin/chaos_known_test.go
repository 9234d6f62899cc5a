package plugin

// known are invariants that do not hold yet, each with the reason. The runner prints
// them and does not check them.
var known = map[string]string{
	notLent:     "cards that are guaranteed to a queue are lent where no quota bounds the root",
}
