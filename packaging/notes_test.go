package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const changelog = `# Changelog

## [Unreleased]

### Added

- One more.

## [0.2.0] - 2026-12-24

Queues can have [cards](docs/cards.md#names).

### Update

Nothing.

### Decisions

The same as before.

### Known problems

None.

### Added

- Cards, by [Volcano](https://volcano.sh/docs.md).

## [0.1.0] - 2026-12-01

### Added
`

// TestNotes takes the section of a release, with links to its pages, and refuses a section without the parts that
// people need.
func TestNotes(t *testing.T) {
	notes, err := notesOf(changelog, "v0.2.0")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(notes, "Queues can have [cards](https://github.com/capacity-card/capacity-card/blob/v0.2.0/docs/cards.md#names).\n"), notes)
	require.True(t, strings.HasSuffix(notes, "(https://volcano.sh/docs.md).\n"), notes)
	require.NotContains(t, notes, "One more")
	for version, want := range map[string]string{
		"v0.1.0": "what is new", "v0.3.0": "no section", "": "no section",
	} {
		_, err := notesOf(changelog, version)
		require.ErrorContains(t, err, want)
	}
	_, err = notesOf(strings.Replace(changelog, "Nothing.\n", "", 1), "v0.2.0")
	require.ErrorContains(t, err, `nothing under "Update"`)
}
