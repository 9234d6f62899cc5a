package index

import (
	"fmt"
	"strings"
)

// mostCompared is the greatest length of names that are compared, in bytes. Names of objects have
// at most 253. The time and the memory of a comparison are the product of both lengths.
const mostCompared = 253

// Nearest returns the name among names that a user most likely meant by name, or "" if
// none is similar. One mistake is allowed, one more in a long name, and never more than every
// third character. Case does not count.
func Nearest(name string, names []string) string {
	nearest, least := "", -1
	lower := []rune(strings.ToLower(name))
	for _, other := range names {
		length := max(len(name), len(other))
		if length > mostCompared || other == name {
			continue
		}

		mistakes := distance(lower, []rune(strings.ToLower(other)))
		similar := mistakes <= 1+length/12 && 3*mistakes <= length
		if similar && (least < 0 || mistakes < least) {
			nearest, least = other, mistakes
		}
	}

	return nearest
}

// DidYouMean suggests the name that is most like name, for the end of a sentence about an
// unknown name. It is "" without one.
func DidYouMean(name string, names []string) string {
	if nearest := Nearest(name, names); nearest != "" {
		return fmt.Sprintf("; did you mean %q?", nearest)
	}
	return ""
}

// distance is the number of edits that turn one text into another: a character is inserted,
// deleted, replaced, or swapped with the next one (optimal string alignment).
func distance(from, to []rune) int {
	d := make([][]int, len(from)+1) // d[i][j] compares the first i characters of from with the first j of to
	for i := range d {
		d[i] = make([]int, len(to)+1)
		for j := range d[i] {
			if i == 0 || j == 0 {
				d[i][j] = i + j
				continue
			}

			replaced := d[i-1][j-1]
			if from[i-1] != to[j-1] {
				replaced++
			}

			d[i][j] = min(replaced, d[i-1][j]+1, d[i][j-1]+1)
			swapped := i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1]
			if swapped {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}

	return d[len(from)][len(to)]
}
