package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// page is about cards.
const page = "../docs/spec/cards.md"

// TestPageQuotesExamples finds all YAML of the pages in their examples, line by line, except for the indentation.
func TestPageQuotesExamples(t *testing.T) {
	quotes(t, page, examples)
	quotes(t, "../docs/spec/weights.md", "../examples/weights")
	quotes(t, "../docs/inference.md", "../examples/tidal")
}

func quotes(t *testing.T, page, examples string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(examples, "*.yaml"))
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		_, err := decode(read(t, file))
		require.NoError(t, err, file)
		all.WriteString("\n" + trimmed(string(read(t, file))) + "\n")
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(read(t, page)), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		require.Contains(t, all.String(), "\n"+trimmed(block[1])+"\n")
	}
}

// TestQuickstartShowsItsFiles expects each manifest of the quick start to be a whole file, apart from its first
// comment.
func TestQuickstartShowsItsFiles(t *testing.T) {
	files, err := filepath.Glob("../examples/quickstart/*.yaml")
	require.NoError(t, err)
	var all []string
	for _, file := range files {
		all = append(all, regexp.MustCompile(`^(#.*\n)+`).ReplaceAllString(string(read(t, file)), ""))
	}
	shown := 0
	for _, block := range fenced.FindAllStringSubmatch(string(read(t, "../docs/quickstart.md")), -1) {
		if block[1] == "yaml" {
			shown++
			require.Contains(t, all, block[2])
		}
	}
	require.Equal(t, 2, shown)
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	return content
}

// trimmed is a text without the indentation of its lines.
func trimmed(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}
