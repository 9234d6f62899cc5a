//go:build invariants

package index_test

// checked reports whether Check checks the invariants in this build.
const checked = true
