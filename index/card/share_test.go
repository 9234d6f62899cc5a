package card

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseAmounts(t *testing.T) {
	for text, want := range map[string]Share{
		"25%":                          {2500, 0, MaxCards},
		"12.5%":                        {1250, 0, MaxCards},
		"0.01%":                        {1, 0, MaxCards},
		"0%":                           {0, 0, MaxCards},
		"100%":                         {10000, 0, MaxCards},
		"07%":                          {700, 0, MaxCards},
		"25%,min=002":                  {2500, 2, MaxCards},
		"25%,min=2":                    {2500, 2, MaxCards},
		"25%,max=64":                   {2500, 0, 64},
		"25%,min=2,max=64":             {2500, 2, 64},
		"25%,min=2,max=2":              {2500, 2, 2},
		"25%,max=99999999999999999999": {2500, 0, MaxCards},
	} {
		amounts, problems := ParseAmounts(`{"B": 3, " @g ": "` + text + `"}`)
		require.Empty(t, problems, text)
		assert.Equal(t, []Amount{{Name: "@g", Share: &want}, {Name: "B", Cards: 3}}, amounts, text)
	}

	const form = " is not a share of the cards: 0% to 100%, then min=N or max=N or both"
	for text, reason := range map[string]string{
		`"100.01%"`:         form,
		`"100.00%"`:         form,
		`"101%"`:            form,
		`"007%"`:            form,
		`"25%,min=3,max=2"`: " has a min above its max",
		`"25.125%"`:         form,
		`"-25%"`:            form,
		`"25 %"`:            form,
		`"%"`:               form,
		`"25%%"`:            form,
		`"25%,max=3,min=2"`: form,
		`"25%,min=1.5"`:     form,
		`"25%, min=1"`:      form,
		`"25%,min=2,min=2"`: form,
	} {
		amounts, problems := ParseAmounts(`{"A": ` + text + `, "B": 3}`)
		assert.Equal(t, []Amount{{Name: "B", Cards: 3}}, amounts, text)
		assert.Equal(t, []Problem{{"A", text + reason}}, problems, text)
	}

	_, problems := ParseAmounts(`{"A": "8", "A|B": "25%", "C": "25%", " C": 1}`)
	assert.Equal(t, []Problem{{"A", "a string is not a number of cards"}, {"A|B", "is a choice of cards, and a quota is for one card"},
		{"C", givenTwice}}, problems)
	_, problems = ParseQuota(`{"A": "25%"}`)
	assert.Equal(t, []Problem{{"A", "a string is not a number of cards"}}, problems)
}

// amountsOf parses amounts of the same card, in order.
func amountsOf(t *testing.T, values ...string) (all []Amount) {
	t.Helper()
	for _, value := range values {
		amounts, problems := ParseAmounts(`{"A": ` + value + `}`)
		require.Empty(t, problems)
		all = append(all, amounts...)
	}
	return all
}

func TestDivide(t *testing.T) {
	for name, c := range map[string]struct {
		stock  Milli
		values []string
		want   []int64
	}{
		"one share is rounded down":             {7000, []string{`"50%"`}, []int64{3}},
		"all cards":                             {7000, []string{`"100%"`}, []int64{7}},
		"halves: the first gets the odd card":   {7000, []string{`"50%"`, `"50%"`}, []int64{4, 3}},
		"the larger remainder":                  {7000, []string{`"30%"`, `"30%"`, `"40%"`}, []int64{2, 2, 3}},
		"thirds":                                {7000, []string{`"33.33%"`, `"33.34%"`, `"33.33%"`}, []int64{2, 3, 2}},
		"several cards are left":                {5000, []string{`"25%"`, `"25%"`, `"25%"`, `"25%"`}, []int64{2, 1, 1, 1}},
		"a share of nothing gets none of them":  {3000, []string{`"0%"`, `"50%"`, `"50%"`}, []int64{0, 2, 1}},
		"less than 100%":                        {7000, []string{`"50%"`, `"49.99%"`}, []int64{3, 3}},
		"more than 100%":                        {7000, []string{`"50%"`, `"50%"`, `"0.01%"`}, []int64{3, 3, 0}},
		"a number is one of them":               {7000, []string{`"50%"`, `2`, `"50%"`}, []int64{3, 2, 3}},
		"bounds after rounding":                 {7000, []string{`"50%,max=2"`, `"50%,min=5"`}, []int64{2, 5}},
		"a bound does not change the remainder": {7000, []string{`"50%,min=6"`, `"50%"`}, []int64{6, 3}},
		"no stock":                              {0, []string{`"50%"`, `"50%,min=2"`}, []int64{0, 2}},
		"a part of a card is left":              {2500, []string{`"50%"`, `"50%"`}, []int64{1, 1}},
		"parts of cards make a whole one":       {1500, []string{`"50%"`, `"50%"`}, []int64{1, 0}},
		"a negative stock":                      {-1, []string{`"50%"`, `3`}, []int64{0, 3}},
		"a huge stock":                          {1e300, []string{`"50%"`, `"50%"`}, []int64{MaxCards / 2, MaxCards / 2}},
		"none":                                  {7000, nil, []int64{}},
	} {
		assert.Equal(t, c.want, Divide(c.stock, amountsOf(t, c.values...)), name)
	}
}

// FuzzParseAmounts expects the same amounts from the text that they are written as, and shares within their bounds.
func FuzzParseAmounts(f *testing.F) {
	for _, seed := range append(jsonSeeds, `{"A":"25%","@g":"12.5%,min=2,max=64","B":8}`, `{"A":"101%","B":"25%,min=3,max=2","C":"%"}`) {
		f.Add(seed, int64(7))
	}
	normal := func(key string) string {
		if key = strings.TrimSpace(key); key == "" {
			return " "
		}
		return key
	}
	f.Fuzz(func(t *testing.T, text string, stock int64) {
		amounts, problems := ParseAmounts(text)
		if len(text) > deepest {
			return
		}
		var names []string
		for _, a := range amounts {
			names = append(names, a.Name)
		}
		checkParsed(t, text, names, problems, normal)
		again, problems := ParseAmounts(WriteAmounts(amounts))
		require.Equal(t, amounts, again)
		require.Empty(t, problems)

		for i, n := range Divide(Milli(stock), amounts) {
			if s := amounts[i].Share; s != nil {
				require.True(t, s.Min <= n && n <= s.Max, "%s of %d is %d", s, stock, n)
			} else {
				require.Equal(t, amounts[i].Cards, n)
			}
		}
	})
}
