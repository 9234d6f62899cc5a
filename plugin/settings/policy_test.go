package settings_test

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/settings"
)

const admission = "../../deploy/admission/policy.yaml"

// madeVariables are the variables of the policy that follow from the table.
var madeVariables = regexp.MustCompile(`(?s)  # Made from plugin/settings .*?\n  # The end of what is made from plugin/settings\.\n`)

// TestAdmissionPolicy compares the variables of the admission policy with the table.
func TestAdmissionPolicy(t *testing.T) {
	text, err := os.ReadFile(admission)
	require.NoError(t, err)
	require.Len(t, madeVariables.FindAll(text, -1), 1)

	want := madeVariables.ReplaceAllLiteralString(string(text), variables())
	if *update {
		require.NoError(t, os.WriteFile(admission, []byte(want), 0o644))
		return
	}
	assert.True(t, want == string(text), "%s is out of date: run this test with -update", admission)
}

// softQuota is the annotation of ofCards that has numbers only.
const softQuota = "volcano.sh/soft-quota"

// ofCards are the annotations with a JSON object of cards. For these annotations, the policy names the wrong members.
var ofCards = []string{card.QuotaKey, card.DeservedKey, card.GuaranteeKey, softQuota}

// variables returns the variables with the patterns of annotations and the words for valid values.
func variables() string {
	var patterns, wanted []string
	numbers, amounts := "", ""
	for _, s := range settings.In(settings.Queue) {
		switch {
		case s.Name == softQuota:
			numbers = s.Pattern
			continue
		case slices.Contains(ofCards, s.Name):
			amounts = s.Pattern
			continue
		}
		patterns = append(patterns, strconv.Quote(s.Name)+": r'"+s.Pattern+"'")
		wanted = append(wanted, strconv.Quote(s.Name)+": "+strconv.Quote(wantOf(s)))
	}

	const between = ",\n      "
	return `  # Made from plugin/settings by "go test ./plugin/settings -run TestAdmissionPolicy -update". DO NOT EDIT.
  # The annotations of queues, with the values that they can have. Numbers of cards follow.
  - name: patterns
    expression: >-
      {` + strings.Join(patterns, between) + `}
  - name: wanted
    expression: >-
      {` + strings.Join(wanted, between) + `}
  - name: cards
    expression: '["` + strings.Join(ofCards, `", "`) + `"]'
  # A JSON object without objects, arrays or repeated commas in it. Names are not blank and
  # have no |, which separates the cards of a list. Numbers are digits.
  - name: numbers
    expression: >-
      r'` + numbers + `'
  # The same with numbers or shares of the cards of the nodes, such as "25%" or "25%,min=2,max=64".
  - name: amounts
    expression: >-
      r'` + amounts + `'
  # The end of what is made from plugin/settings.
`
}

// wantOf describes a valid value of an annotation, for the end of "is not …", as the parsers do.
func wantOf(s settings.Setting) string {
	want := strings.ReplaceAll(s.Values.English, "`", "")
	if isList(s) {
		want = "a list of " + want + ", such as " + s.Example
	}
	return want
}

// isList reports whether an annotation has several words.
func isList(s settings.Setting) bool { return strings.Contains(s.Values.English, "; ") }
