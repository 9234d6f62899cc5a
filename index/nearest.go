package index

import (
	"fmt"
	"strings"
)

// mostCompared is the length of the longest names that are compared, in bytes: those of objects
// have 253 at most. The time and the memory of a comparison are the product of both lengths.
const mostCompared = 253

// Nearest returns the name among names that a user most likely meant by name, or "" if
// none is similar: one mistake, one more in a long name, and never more than every third
// character. Case does not count.
func Nearest(name string, names []string) string {
	nearest, least := "", -1
	for _, other := range names {
		if max(len(name), len(other)) > mostCompared {
			continue
		}
		n, length := distance([]rune(strings.ToLower(name)), []rune(strings.ToLower(other))), max(len(name), len(other))
		if n <= 1+length/12 && 3*n <= length && other != name && (least < 0 || n < least) {
			nearest, least = other, n
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

// distance is the number of mistakes that make a text of another one: characters that
// are inserted, deleted, replaced, or swapped with the next one (optimal string
// alignment).
func distance(from, to []rune) int {
	d := make([][]int, len(from)+1) // between the first i characters of from and j of to
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
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(from)][len(to)]
}
