// Package active selects the mutant that a test binary runs. Only the copy of the module that
// fuzz/mutate makes imports it: there, each function that has mutants asks for the active one.
package active

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
)

// Variables of the environment: the number of the mutant, and a file to which the numbers of the
// functions with mutants are written that the process reaches.
const (
	Variable        = "MUTANT"
	ReachedVariable = "MUTANT_REACHED"
)

// Functions is more than the number of any function.
const Functions = 4096

var (
	mutant, _ = strconv.Atoi(os.Getenv(Variable)) // 0, which is no mutant, if there is none
	record    = openRecord(os.Getenv(ReachedVariable))
	reached   [Functions]atomic.Bool
)

func openRecord(name string) *os.File {
	if name == "" {
		return nil
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	return file
}

// Mutant returns the number of the active mutant, 0 for none. The function that asks is recorded.
func Mutant(function int) int {
	if record != nil && !reached[function].Swap(true) {
		fmt.Fprintln(record, function) // at once: a test can end the process
	}
	return mutant
}
