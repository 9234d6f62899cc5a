package command

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/plugin/release"
)

// TestSettingsPages runs the commands of pages on examples/settings, and expects their output.
func TestSettingsPages(t *testing.T) {
	if release.Built() != release.V1141 {
		t.Skip("the pages show the rules of Volcano v1.14.1")
	}
	t.Chdir("../../..")
	for page, commands := range map[string]int{"docs/settings.md": 2, "docs/zh/settings.md": 3, "docs/advanced-cards.md": 1} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		played := session.ReplaceAllStringFunc(string(text), func(block string) string {
			return "```console\n" + play(session.FindStringSubmatch(block)[1]) + "```"
		})
		require.Equal(t, commands, strings.Count(played, "\n$ cardctl "), page)
		if *update {
			require.NoError(t, os.WriteFile(page, []byte(played), 0o600))
			continue
		}

		// Of equal nodes, Volcano picks any.
		equal := regexp.MustCompile(`h200-\d`)
		want := equal.ReplaceAllString(string(text), "h200")
		assert.Equal(t, want, equal.ReplaceAllString(played, "h200"), "run this test with -update")
	}
}
