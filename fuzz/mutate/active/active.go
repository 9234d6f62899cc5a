// Package active selects the mutant that a test binary runs. Only the copy of the module that fuzz/mutate makes imports
// it: there, each function that has mutants asks which one is active.
package active

import (
	"os"
	"strconv"
)

// Variable is the variable of the environment that has the number of the active mutant.
const Variable = "MUTANT"

// Mutant is the number of the active mutant, 0 for none.
var Mutant, _ = strconv.Atoi(os.Getenv(Variable))
