package index

import "unicode/utf8"

// Shorten returns text in at most most bytes, followed by "…" if it is cut. The cut
// is at the boundary of a rune, so valid UTF-8 stays valid.
//
// Users write names and annotations of any length. Messages that quote them must
// stay short.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}

	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}

	return text[:end] + "…"
}
