package chaos

// known are invariants that do not hold yet, each with the reason. The runner prints
// them and does not check them.
var known = map[string]string{
	outlivesQueue: "a pod whose queue is deleted is not in the session, so its cards are forgotten if its node changes before the queue exists again",
}

// unchecked reports whether an invariant does not hold yet, so that it is not checked.
func unchecked(invariant string) bool { return known[invariant] != "" && !*worldKnown }
