// Package binary builds the benchmarks as a program, for commands that
// run them again and again.
package binary

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// path is the path of the program from the root of the module.
const path = "bin/bench.test"

// Build makes the program.
func Build() error {
	build := exec.Command("go", "test", "-c", "-o", path, "./bench")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the benchmarks: %w", err)
	}
	return nil
}

// Command runs the benchmarks that match a pattern, each for a time such as 1s
// or 10x, with more flags of go test, or of the benchmarks themselves.
func Command(bench, benchtime string, flags ...string) *exec.Cmd {
	flags = append([]string{"-test.run", "^$", "-test.bench", bench, "-test.benchtime", benchtime}, flags...)
	command := exec.Command(path, flags...)
	command.Stderr = os.Stderr
	return command
}

// Line returns a command as a user types it.
func Line(command *exec.Cmd) string {
	words := []string{}

	for _, word := range command.Args {
		if strings.ContainsAny(word, "^$|()*") {
			word = "'" + word + "'"
		}
		words = append(words, word)
	}

	return strings.Join(words, " ")
}
