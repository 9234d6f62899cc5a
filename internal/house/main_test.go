// Package house checks the repository as a whole: layers, style, and that documentation, manifests and workflows agree
// with the code. It has only tests, and they run in the root of the repository.
package house

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
