package house

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// longestSentence is the largest number of words in a sentence of a page for users.
const longestSentence = 25

// dialect are words that have a plainer equivalent.
var dialect = regexp.MustCompile(`(?i)\b(?:whose|those of|that of|but for|anew|what (?:it|they|each|others) (?:has|have))\b`)

var (
	fencedBlock = regexp.MustCompile("(?s)```.*?```")
	linkTarget  = regexp.MustCompile(`\]\([^)]*\)`)
	sentenceEnd = regexp.MustCompile(`[.?!:](?:\s|$)`)
	goName      = regexp.MustCompile("`(?:[\\w/]+\\.go|Test\\w+|Fuzz\\w+)`")
	readers     = regexp.MustCompile(`^# .+\n\n(?:For|You have) `)
)

// TestPagesForUsersAreRead keeps the pages for users plain: they begin with their readers, and have few long sentences,
// no dialect, and no file or test of the source. docs/spec, docs/dev and generated pages have rules of their own.
func TestPagesForUsersAreRead(t *testing.T) {
	for _, page := range userPages(t) {
		text := string(read(t, page))
		if page != "README.md" && !readers.MatchString(text) {
			t.Errorf("%s does not open with whom it is for", page)
		}

		prose := fencedBlock.ReplaceAllString(text, "")
		for _, name := range goName.FindAllString(prose, -1) {
			t.Errorf("%s names %s: say what the user sees", page, name)
		}
		for _, word := range dialect.FindAllString(prose, -1) {
			t.Errorf("%s has %q", page, word)
		}

		long, all := countSentences(prose)
		if long > max(1, all/20) {
			t.Errorf("%s: %d of %d sentences have more than %d words", page, long, all, longestSentence)
		}
	}
}

// userPages returns the pages for users in English that people write.
func userPages(t *testing.T) (pages []string) {
	t.Helper()
	for _, page := range allPages(t) {
		own := strings.HasPrefix(page, "docs/") && !strings.HasPrefix(page, "docs/spec/") &&
			!strings.HasPrefix(page, "docs/dev/") && !strings.HasPrefix(page, "docs/zh/")
		if (own || page == "README.md") && !isGenerated(read(t, page)) {
			pages = append(pages, page)
		}
	}
	return pages
}

// countSentences returns the number of sentences with too many words, and of all sentences. A cell of a table and an
// item of a list end a sentence.
func countSentences(prose string) (long, all int) {
	prose = linkTarget.ReplaceAllString(prose, "]")
	for _, paragraph := range strings.Split(prose, "\n\n") {
		lines := strings.Split(paragraph, "\n")
		joined := ""
		for _, line := range lines {
			item := strings.HasPrefix(strings.TrimSpace(line), "- ") || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#")
			if item {
				joined += ". "
			}
			joined += strings.ReplaceAll(line, "|", ". ") + " "
		}

		for _, sentence := range sentenceEnd.Split(joined, -1) {
			words := slices.DeleteFunc(strings.Fields(sentence), func(word string) bool {
				return !strings.ContainsFunc(word, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
			})
			if len(words) > 1 {
				all++
			}
			if len(words) > longestSentence {
				long++
			}
		}
	}
	return long, all
}
