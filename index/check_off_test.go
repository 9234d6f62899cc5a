//go:build !invariants

package index_test

// checked is whether Check looks.
const checked = false
