package card

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseQuotaOfSixCards(t *testing.T) {
	entries, problems := ParseQuota(`{"NVIDIA-H200":3,"NVIDIA-H800":2,"NVIDIA-GeForce-RTX-4090":2,` +
		`"NVIDIA-H800/mps-80g*1/2":2,"NVIDIA-H200/mig-1g.18gb-mixed":3,"NVIDIA-H200/mig-3g.71gb-mixed":1}`)
	assert.Empty(t, problems)
	assert.Equal(t, []Entry{
		{"NVIDIA-GeForce-RTX-4090", 2},
		{"NVIDIA-H200", 3},
		{"NVIDIA-H200/mig-1g.18gb-mixed", 3},
		{"NVIDIA-H200/mig-3g.71gb-mixed", 1},
		{"NVIDIA-H800", 2},
		{"NVIDIA-H800/mps-80g*1/2", 2},
	}, entries)
}

func TestParseQuotaValues(t *testing.T) {
	for value, want := range map[string]int64{
		"0": 0, "-0": 0, "-0.0e5": 0, "0e400": 0, "0.000e-99999999999999999999": 0,
		"1": 1, "2.0": 2, "1e2": 100, "1E+2": 100, "1.50e1": 15, "120e-1": 12, "0.5e1": 5, "0.00012e6": 120, " 7 ": 7,
		"999999999": MaxCards - 1, "1000000000": MaxCards, "1000000001": MaxCards,
		"9223372036854776": MaxCards, "9999999999999999": MaxCards, "100000000000000000": MaxCards,
		"1000000000000000000": MaxCards, "9223372036854775808": MaxCards, "1e400": MaxCards, "1e999999999999999999999": MaxCards,
		"999999999000e-3": MaxCards - 1, "99999999.9e1": MaxCards - 1,
		"1" + strings.Repeat("0", 5000) + "e-5000":        1,
		"0." + strings.Repeat("0", 5000) + "3e5001":       3,
		"3." + strings.Repeat("0", 5000):                  3,
		strings.Repeat("9", 5000):                         MaxCards,
		"0." + strings.Repeat("0", 40) + "1e999999999999": MaxCards,
	} {
		entries, problems := ParseQuota(`{"A":` + value + `}`)
		assert.Empty(t, problems, value)
		assert.Equal(t, []Entry{{"A", want}}, entries, value)
	}
	for value, want := range map[string]string{
		"2.5": "2.5 is not a whole number of cards", "1e-1": "1e-1 is not a whole number of cards",
		"1e-400":                         "1e-400 is not a whole number of cards",
		"1e-99999999999999999999":        "1e-99999999999999999999 is not a whole number of cards",
		"99999999999999999999.5":         "99999999999999999999.5 is not a whole number of cards",
		"9007199254740992.5":             "9007199254740992.5 is not a whole number of cards",
		"-1":                             "-1 is negative",
		"-2.5":                           "-2.5 is negative",
		"-1e400":                         "-1e400 is negative",
		"-1e-400":                        "-1e-400 is negative",
		`"3"`:                            "a string is not a number of cards",
		`""`:                             "a string is not a number of cards",
		"null":                           "null is not a number of cards",
		"true":                           "true is not a number of cards",
		" false ":                        "false is not a number of cards",
		`{}`:                             "an object is not a number of cards",
		`{"A":{"B":[1]},"C":"}"}`:        "an object is not a number of cards",
		`[1,2]`:                          "an array is not a number of cards",
		"0." + strings.Repeat("1", 9999): "0." + strings.Repeat("1", 98) + "… is not a whole number of cards",
		strings.Repeat("[", 5000) + strings.Repeat("]", 5000): "an array is not a number of cards",
	} {
		entries, problems := ParseQuota(`{"A":` + value + `,"B":1}`)
		assert.Equal(t, []Problem{{"A", want}}, problems, value)
		assert.Equal(t, []Entry{{"B", 1}}, entries, "the good key counts beside %s", value)
	}
}

// TestParseWholeAgainstBig compares with the exact arithmetic of math/big.
func TestParseWholeAgainstBig(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 50_000 {
		number := strconv.FormatInt(random.Int64N([]int64{1, 10, 1000, math.MaxInt64}[random.IntN(4)]), 10)
		if random.IntN(2) == 0 {
			number += "." + fmt.Sprintf("%0*d", 1+random.IntN(4), random.IntN(2)*random.IntN(10))
		}
		if random.IntN(2) == 0 {
			number += fmt.Sprintf("e%d", random.IntN(30)-10)
		}
		exact, ok := new(big.Rat).SetString(number)
		require.True(t, ok, number)
		cards, whole := parseWhole(number)
		if !assert.Equal(t, exact.IsInt(), whole, number) {
			return
		}
		if want := exact.Num(); whole {
			if want.Cmp(big.NewInt(MaxCards)) > 0 {
				want = big.NewInt(MaxCards)
			}
			require.Equal(t, want.Int64(), cards, number)
		}
	}
}

func TestParseQuotaKeys(t *testing.T) {
	const choice = "is a choice of cards, and a quota is for one card"
	for text, want := range map[string]struct {
		entries  []Entry
		problems []Problem
	}{
		`{}`:                               {},
		" \n{ }\t":                         {},
		`{"B":2,"A":1}`:                    {[]Entry{{"A", 1}, {"B", 2}}, nil},
		`{" A ":1}`:                        {[]Entry{{"A", 1}}, nil},
		`{"\u0041":1}`:                     {[]Entry{{"A", 1}}, nil},
		`{"智算卡":1}`:                        {[]Entry{{"智算卡", 1}}, nil},
		`{"":1,"A":1}`:                     {[]Entry{{"A", 1}}, []Problem{{" ", "names no card"}}},
		`{" ":1,"\t":2,"":3}`:              {nil, []Problem{{" ", "names no card"}}},
		`{"A":1,"B":1,"A":1}`:              {[]Entry{{"B", 1}}, []Problem{{"A", givenTwice}}},
		`{"A":1," A":1,"A ":1}`:            {nil, []Problem{{"A", givenTwice}}},
		`{"A":2.5,"A":1}`:                  {nil, []Problem{{"A", givenTwice}}},
		`{"A":1,"A":2.5}`:                  {nil, []Problem{{"A", givenTwice}}},
		`{"A":1,"\u0041":1}`:               {nil, []Problem{{"A", givenTwice}}},
		`{"A|B":1,"A":1}`:                  {[]Entry{{"A", 1}}, []Problem{{"A|B", choice}}},
		`{" |":1,"A|B":1,"A|B":1}`:         {nil, []Problem{{"A|B", choice}, {"|", choice}}},
		`{"D":"1","C":-1,"B":null,"A":1}`:  {[]Entry{{"A", 1}}, []Problem{{"B", "null is not a number of cards"}, {"C", "-1 is negative"}, {"D", "a string is not a number of cards"}}},
		`{"A":{"B":1},"B":2,"C":["D",{}]}`: {[]Entry{{"B", 2}}, []Problem{{"A", "an object is not a number of cards"}, {"C", "an array is not a number of cards"}}},
	} {
		entries, problems := ParseQuota(text)
		assert.Equal(t, want.entries, entries, text)
		assert.Equal(t, want.problems, problems, text)
	}
}

func TestBrokenText(t *testing.T) {
	deep, open, shut := 1<<20, strings.Repeat("[", 1<<20), strings.Repeat("]", 1<<20)
	for want, texts := range map[string][]string{
		"it is empty": {"", " \n\t"},
		"it is not a JSON object": {
			"null", "3", "1e400", `"A"`, `[{"A":1}]`, "A: 1", "}", "\x00", "\ufeff{}", "\u00a0{}", open, strings.Repeat("x", 1<<20),
		},
		"it is not a JSON object: it ends too early": {
			`{`, `{"A`, `{"A"`, `{"A":`, `{"A":"`, `{"A":1`, `{"A":1,`, `{"A":[`, `{"A":1,"B":2,"C":tru`, strings.Repeat(`{"A":`, 9),
		},
		// The rest of the text comes from encoding/json.
		"it is not a JSON object: …": {
			`{"A":1,}`, `{,"A":1}`, `{"A":1 "B":2}`, `{"A" 1}`, `{"A"::1}`, `{"A":}`, `{"A"}`, `{"A":1]`,
			`{A:1}`, `{1:1}`, `{["A"]:1}`, `{{}:1}`, `{null:1}`, `{'A':1}`,
			`{"A":01}`, `{"A":+1}`, `{"A":.5}`, `{"A":1.}`, `{"A":NaN}`, `{"A":0x1}`, `{"A":1_0}`,
			`{"A":"\x"}`, `{"\x":1}`, "{\"A\n\":1}", `{"A":1,"B":[1,{"C":]}}`, `{"A":1,"B":2.5,"C":x}`,
			`{"A":1,"B":` + open + shut + `}`, `{"A":1,"B":` + open,
			strings.Repeat(`{"A":`, deep) + "1" + strings.Repeat("}", deep), `{"A":1,"B":` + strings.Repeat(`{"A":`, deep),
		},
		"it goes on after the JSON object": {
			`{"A":1}}`, `{"A":1},`, `{"A":1} {"B":1}`, `{"A":1} x`, "{\"A\":1}\x00", "{\"A\":1}\u00a0", `{"A":1}// 2`, `{"A":1,"A":1,"":1} "`, `{}` + open,
		},
	} {
		for _, text := range texts {
			short := text[:min(len(text), 40)]
			entries, problems := ParseQuota(text)
			assert.Nil(t, entries, short)
			requests, requestProblems := ParseRequest(text)
			assert.Nil(t, requests, short)
			assert.Equal(t, problems, requestProblems, short)
			require.Len(t, problems, 1, short)
			assert.Empty(t, problems[0].Key, short)
			if prefix, more := strings.CutSuffix(want, "…"); more {
				assert.Regexp(t, "^"+prefix+".", problems[0].Reason, short)
				assert.NotContains(t, problems[0].Reason, "too early", short)
				assert.Less(t, len(problems[0].Reason), 150, short)
			} else {
				assert.Equal(t, want, problems[0].Reason, short)
			}
		}
	}
}

func TestParseRequest(t *testing.T) {
	entries := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"A%d":1`, i))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	requests, _ := ParseRequest(entries(64))
	assert.Len(t, requests, 64)
	requests, problems := ParseRequest(entries(65))
	assert.Empty(t, requests)
	assert.Equal(t, []Problem{{Reason: "has 65 entries, and may have at most 64"}}, problems)

	for text, want := range map[string]struct {
		requests []ListRequest
		problems []Problem
	}{
		`{}`:                  {},
		`{"NVIDIA-H200":2}`:   {[]ListRequest{{List{"NVIDIA-H200"}, 2}}, nil},
		`{"C":1,"A | B|A":2}`: {[]ListRequest{{List{"A", "B"}, 2}, {List{"C"}, 1}}, nil},
		`{"NVIDIA-GeForce-RTX-4090|NVIDIA-GeForce-RTX-4090-D":2}`: {[]ListRequest{{List{"NVIDIA-GeForce-RTX-4090", "NVIDIA-GeForce-RTX-4090-D"}, 2}}, nil},
		`{"B|A":1,"A|B":2}`:           {[]ListRequest{{List{"A", "B"}, 2}, {List{"B", "A"}, 1}}, nil},
		`{"A|B":2," A |B|":1,"C":1}`:  {[]ListRequest{{List{"C"}, 1}}, []Problem{{"A|B", givenTwice}}},
		`{"A":1,"A|":1,"|A|A":1}`:     {nil, []Problem{{"A", givenTwice}}},
		`{"":1,"A":1}`:                {[]ListRequest{{List{"A"}, 1}}, []Problem{{" ", "names no card"}}},
		`{" |":1,"||":1,"\t":1}`:      {nil, []Problem{{" ", "names no card"}, {"|", "names no card"}, {"||", "names no card"}}},
		`{"B |A":0.5,"A":"1","C":-1}`: {nil, []Problem{{"A", "a string is not a number of cards"}, {"B|A", "0.5 is not a whole number of cards"}, {"C", "-1 is negative"}}},
		`{"A|B":1e400}`:               {[]ListRequest{{List{"A", "B"}, MaxCards}}, nil},
	} {
		requests, problems := ParseRequest(text)
		assert.Equal(t, want.requests, requests, text)
		assert.Equal(t, want.problems, problems, text)
	}
}

func TestProblemInWords(t *testing.T) {
	long := strings.Repeat("卡", 1366)
	for want, problem := range map[string]Problem{
		`"NVIDIA-H200": 2.5 is not a whole number of cards`: {"NVIDIA-H200", "2.5 is not a whole number of cards"},
		`"": names no card`:                    {" ", "names no card"},
		`it is empty`:                          {"", "it is empty"},
		`"a\nb\"": is given more than once`:    {"a\nb\"", givenTwice},
		`"` + long[:99] + `…": -1 is negative`: {long, "-1 is negative"},
	} {
		var err error = problem
		assert.EqualError(t, err, want)
	}
	assert.Equal(t, strings.Repeat("x", 100), cut(strings.Repeat("x", 100)))
	assert.Equal(t, strings.Repeat("x", 100)+"…", cut(strings.Repeat("x", 101)))
	assert.Equal(t, "…", cut(strings.Repeat("\x80", 101)), "no rune begins anywhere")
}

func TestLongNames(t *testing.T) {
	good, bad := strings.Repeat("x", 4096), strings.Repeat("y", 4096)
	entries, problems := ParseQuota(`{"` + good + `":3,"` + bad + `":` + strings.Repeat("7", 4096) + `.5}`)
	assert.Equal(t, []Entry{{good, 3}}, entries)
	require.Len(t, problems, 1)
	assert.Equal(t, bad, problems[0].Key, "the whole key, so that callers can identify it")
	assert.Less(t, len(problems[0].Error()), 300)
}

func TestParseBigText(t *testing.T) {
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, `"%d":%d,"b%d":[{"x":"%d"}],`, i, i, i, i)
	}
	entries, problems := ParseQuota(`{` + text.String() + `"twice":1,"twice":1}`)
	assert.Len(t, entries, 100_000)
	assert.Len(t, problems, 100_001)
	requests, _ := ParseRequest(`{"` + manyNames(200_000) + `":1}`)
	require.Len(t, requests, 1)
	assert.Len(t, requests[0].List, 64)
}

var jsonSeeds = []string{
	`{"NVIDIA-H200":3,"NVIDIA-H800/mps-80g*1/2":2,"NVIDIA-H200/mig-1g.18gb-mixed":3}`,
	`{"A|B":2,"B|A":1," A | B ":1}`, `{"A":1,"A":2,"B":2.5,"C":"3","D":null,"E":-1,"F":1e400,"":1}`,
	`{"A":{"B":[1,{"C":"}"}]},"D":true}`, `{"A":1e-400,"B":-0,"C":2.0,"D":1E2}`, `{"\u0041":1,"\ud800":2,"\ufffd":3}`,
	``, ` `, `{}`, `{} x`, `{"A":1}}`, `[]`, `null`, `{"A":1,}`, `{"A`, "{\"\x80\":1}", `{"|":1}`, "{\"\u00a0A\":1}",
}

// keysOf returns the keys of a JSON object, each once, and false if text is no JSON object.
func keysOf(text string) ([]string, bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) != nil || object == nil {
		return nil, false
	}
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	return keys, true
}

// checkParsed compares the names and problems of a text with its keys.
func checkParsed(t *testing.T, text string, names []string, problems []Problem, normal func(string) string) {
	keys, isObject := keysOf(text)
	if !isObject {
		assert.Empty(t, names)
		require.Len(t, problems, 1)
		assert.Empty(t, problems[0].Key)
	}
	all := map[string]bool{}
	for i, name := range names {
		assert.NotEmpty(t, name)
		assert.Equal(t, normal(name), name)
		assert.True(t, i == 0 || names[i-1] < name, "sorted and unique")
		all[name] = true
	}
	for i, problem := range problems {
		assert.NotEmpty(t, problem.Reason)
		assert.True(t, utf8.ValidString(problem.Error()))
		assert.Less(t, len(problem.Error()), 1000)
		assert.True(t, i == 0 || problems[i-1].Key < problem.Key, "sorted and unique")
		assert.False(t, all[problem.Key], "%q is both good and bad", problem.Key)
		assert.Equal(t, isObject, problem.Key != "")
		all[problem.Key] = true
	}
	if isObject {
		wanted := map[string]bool{}
		for _, key := range keys {
			wanted[normal(key)] = true
		}
		assert.Equal(t, wanted, all, "every key has one result, and no other key has")
	}
}

const deepest = 9000 // nesting that encoding/json always accepts

func FuzzParseQuota(f *testing.F) {
	for _, seed := range jsonSeeds {
		f.Add(seed)
	}
	normal := func(key string) string {
		if key = strings.TrimSpace(key); key == "" {
			return " "
		}
		return key
	}
	f.Fuzz(func(t *testing.T, text string) {
		entries, problems := ParseQuota(text)
		if len(text) > deepest {
			return
		}
		var names []string
		written := map[string]int64{}
		for _, e := range entries {
			assert.True(t, 0 <= e.Cards && e.Cards <= MaxCards)
			assert.NotContains(t, e.Name, "|")
			names = append(names, e.Name)
			written[e.Name] = e.Cards
		}
		checkParsed(t, text, names, problems, normal)
		again, err := json.Marshal(written)
		require.NoError(t, err)
		reread, problems := ParseQuota(string(again))
		assert.Equal(t, entries, reread)
		assert.Empty(t, problems)
	})
}

func FuzzParseRequest(f *testing.F) {
	for _, seed := range jsonSeeds {
		f.Add(seed)
	}
	normal := func(key string) string {
		if list := ParseList(key); list != nil {
			return list.String()
		}
		if key = strings.TrimSpace(key); key == "" {
			return " "
		}
		return key
	}
	f.Fuzz(func(t *testing.T, text string) {
		requests, problems := ParseRequest(text)
		if len(text) > deepest {
			return
		}
		var names []string
		written := map[string]int64{}
		for _, d := range requests {
			assert.True(t, 0 <= d.Count && d.Count <= MaxCards)
			assert.False(t, slices.Contains(d.List, ""))
			names = append(names, d.List.String())
			written[d.List.String()] = d.Count
		}
		checkParsed(t, text, names, problems, normal)
		again, err := json.Marshal(written)
		require.NoError(t, err)
		reread, problems := ParseRequest(string(again))
		assert.Equal(t, requests, reread)
		assert.Empty(t, problems)
	})
}
