package settings_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/override"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/settings"
)

// TestNames expects the table to have each argument and annotation that a parser knows, once, and no other.
func TestNames(t *testing.T) {
	queueKeys := slices.Concat(policy.Keys(), card.QueueKeys, []string{policy.OverrideKey})
	queueKeys = slices.DeleteFunc(queueKeys, func(key string) bool { return key == card.StatusKey }) // nobody sets it
	jobKeys := []string{card.NameKey, card.RequestKey, policy.UserKey, policy.GroupsKey, policy.ExpectedRuntimeKey,
		policy.CheckpointKey, policy.EvictionGraceKey, policy.ServiceTypeKey}

	for place, known := range map[settings.Place][]string{
		settings.Argument: arguments.Known, settings.Queue: queueKeys, settings.Workload: jobKeys,
	} {
		var names []string
		for _, s := range settings.In(place) {
			names = append(names, s.Name)
		}
		slices.Sort(names)
		assert.Equal(t, slices.Compact(slices.Sorted(slices.Values(known))), names, place)
	}
}

// TestWindows compares with the annotations that windows set.
func TestWindows(t *testing.T) {
	var names []string
	for _, s := range settings.In(settings.Queue) {
		if s.Windows {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	assert.Equal(t, override.Annotations, names)
}

// TestInheritance has a queue set an example, and compares whether the queue below it has it.
func TestInheritance(t *testing.T) {
	for _, s := range settings.In(settings.Queue) {
		if !slices.Contains(policy.Keys(), s.Name) {
			assert.False(t, s.Inherits, s.Name)
			continue
		}

		own, wrong := policy.Parse(map[string]string{s.Name: s.Example})
		require.Empty(t, wrong, s.Name)
		_, below := policy.Inherit(&own, nil)
		inherits := false
		for k := range below {
			inherits = inherits || below[k].Set
		}
		assert.Equal(t, s.Inherits, inherits, s.Name)
	}
}

// problem returns the problem with the text of an annotation, "" for none.
func problem(s settings.Setting, text string) string {
	var problems []card.Problem
	switch s.Name {
	case card.NameKey:
		return ""
	case card.RequestKey:
		_, problems = card.ParseRequest(text)
	case override.Key:
		_, problems = override.Parse(text)
	case index.PathKey:
		return problemOfPath(text, "")
	case index.WeightsKey:
		return problemOfPath(index.RootName+strings.Repeat("/x", strings.Count(text, "/")), text)
	case policy.ExpectedRuntimeKey:
		return policy.RuntimeProblem(text)
	case policy.CheckpointKey:
		return policy.CheckpointProblem(text)
	case policy.ServiceTypeKey:
		if !policy.IsServiceType(text) {
			return "is no service class"
		}
	case policy.EvictionGraceKey:
		if s.Place == settings.Workload {
			return policy.GraceProblem(text)
		}
		problems = override.Problems(s.Name, text)
	default:
		problems = override.Problems(s.Name, text)
	}

	if len(problems) > 0 {
		return problems[0].Error()
	}
	return ""
}

// problemOfPath returns the problem with the annotations of a path, "" for none.
func problemOfPath(path, weights string) string {
	places := index.Place([]index.Placement{{Queue: "q", Path: path, Weights: weights}}, index.RootName)
	for _, err := range places.Problems {
		return err.Error()
	}
	return ""
}

// TestExamples has the parsers read the example of each setting. It is not the default.
func TestExamples(t *testing.T) {
	needs := map[string]map[string]any{ // the other arguments that an argument needs to have an effect
		"fairShare":                      {"fairShareHalfLife": "24h"},
		"fairShareReclaim":               {"fairShareHalfLife": "24h"},
		"podOwnerReferenceToServiceType": {"reclaimByServiceType": true},
	}

	for _, s := range settings.All() {
		if s.Place != settings.Argument {
			assert.Empty(t, problem(s, s.Example), s.Name)
			continue
		}

		effect := builtIn(s)
		for _, name := range plugins(s) {
			v, _ := arguments.VariantOf(name)
			byDefault, _ := arguments.Parse(v, needs[s.Name])
			got, problems := arguments.Parse(v, with(t, needs[s.Name], s.Name, s.Example))
			if len(problems) == 0 {
				effect = effect || !assert.ObjectsAreEqual(byDefault, got)
			}
		}
		assert.True(t, effect, s.Name)
	}
}

// TestDefaults expects that a setting with its default is as one that is not set.
func TestDefaults(t *testing.T) {
	for _, s := range settings.All() {
		switch {
		case s.Default.Value == "":
		case s.Place == settings.Argument:
			for _, name := range plugins(s) {
				v, _ := arguments.VariantOf(name)
				unset, _ := arguments.Parse(v, nil)
				got, problems := arguments.Parse(v, with(t, nil, s.Name, s.Default.Under(name)))
				if s.Name == "fairShare" { // without a half-life, it has no effect
					needed := map[string]any{"fairShareHalfLife": "24h"}
					unset, _ = arguments.Parse(v, needed)
					got, problems = arguments.Parse(v, with(t, needed, s.Name, s.Default.Under(name)))
				}
				assert.Empty(t, problems, s.Name)
				assert.Equal(t, unset, got, "%s under %s", s.Name, name)
			}
		default:
			assert.Empty(t, problem(s, s.Default.Value), s.Name)
			assert.Empty(t, policy.InForce([]map[string]string{{s.Name: s.Default.Value}}), s.Name)
		}
	}
}

// plugins returns the names under which an argument has an effect.
func plugins(s settings.Setting) []string {
	if s.Name == "ancestorReclaimLevel" {
		return []string{arguments.Capacity}
	}
	return []string{arguments.CapacityCard, arguments.Capacity, arguments.Proportion}
}

// builtIn reports whether the build decides whether the argument has an effect.
func builtIn(s settings.Setting) bool {
	return s.Name == "semantics" || strings.HasPrefix(s.Name, "capacity.")
}

// with returns arguments with one more, which is read as YAML.
func with(t *testing.T, given map[string]any, name, text string) map[string]any {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(text), &value), name)
	all := map[string]any{name: value}
	for key, value := range given {
		all[key] = value
	}
	return all
}

// TestValues expects the words of the table in the problem of a wrong text.
func TestValues(t *testing.T) {
	for _, s := range settings.In(settings.Queue) {
		if slices.Contains(policy.Keys(), s.Name) {
			quoted := strconv.Quote(s.Name) + ": "
			assert.Equal(t, quoted+`"?" is not `+wantOf(s), problem(s, "?"), s.Name)
		}
	}
}

// TestPatterns compares the patterns with the parsers: on the examples, on texts with one byte more or less, and on
// other texts. A pattern accepts each text that its parser accepts. Only the pattern of overrides may accept more
// texts than its parser. Texts with a negative zero are left out.
func TestPatterns(t *testing.T) {
	for _, s := range settings.All() {
		if s.Pattern == "" {
			continue
		}
		pattern := regexp.MustCompile(s.Pattern)
		for _, text := range textsOf(s) {
			if strings.Contains(text, "-0") { // a negative zero is read as 0
				continue
			}
			wrong := problem(s, text)
			same := (wrong == "") == pattern.MatchString(text)
			if !same && (wrong == "" || s.Name != override.Key) {
				t.Errorf("%s: %q is valid for the pattern: %t; the parser: %q", s.Name, text, wrong != "", wrong)
				break
			}
		}
	}
}

// wrongTexts are texts that neither a parser nor a pattern accepts.
var wrongTexts = map[string][]string{
	"card.quota": {"", "NVIDIA-H200: 8", `{"NVIDIA-H200": 8`, `["NVIDIA-H200"]`, `{"A": 8} {}`, `{"A": 8,}`, `{"A": 2.5}`,
		`{"A": -1}`, `{"A": "8"}`, `{"A": null}`, `{"A": {"count": 8}}`, `{"A|B": 8}`, `{" ": 8}`, `{"A": 08}`,
		`{"A": "101%"}`, `{"A": "100.00%"}`, `{"A": "007.5%"}`, `{"A": "25.125%"}`, `{"A": "-25%"}`, `{"A": "25 %"}`, `{"A": "25%,max=4,min=2"}`, `{"A": "25%,min=-2"}`,
		`{"A": "%"}`, `{"A": "25%,"}`, `{"A": 25%}`},
	"soft-quota":   {`{"A": "25%"}`, `{"A": "8"}`, `{"A": -1}`},
	"card.request": {"", `{"A": -1}`, `{"|": 8}`, `{"A|B": "8"}`},
	"card.quota.by": {`{"users": {"*": {"A": 8}}}`, `{"user": {"*": {"A": -8}}}`, `{"user": {"*": 8}}`, `{"user": 8}`,
		`{"namespace": {"*": {"cpu": "-1"}}}`, `{"namespace": {"*": {"cpu": "much"}}}`},
	"card.budget": {`{"A": "0.000h/day"}`, `{"A": "1e18h/day"}`, `{"A": "5h/367d"}`, `{"A": "5h/8785h"}`,
		`{"A": "5h/month sliding"}`, `{"A|B": "5h/day"}`},
	"max-jobs":          {"0", "-1", "1.5", "many"},
	"overcommit-factor": {"1.2345", "0.000", "1e3", "-1"},
	"inqueue-timeout":   {"30", "-5m", "2d", "soon"},
	"reclaim-fence":     {"yes", "on"},
	"order": {"", "hold=30m", "best-effort,hold=30m", "fifo,fifo", "fifo,priority-fifo", "fifo;hold=30m", "lifo",
		"fifo,hold=", "displace=on", "nodes"},
	"fair-share":       {"true", "on,off", "weight=0", "weight=-1", "namespaces=on", "namespaces,namespaces"},
	"min-runtime":      {"30m", "reclaim=30", "reclaim=30m,reclaim=1h", "run=30m"},
	"eviction-budget":  {"10/1h", "lose=0/1h", "lose=10001/1h", "take=10/90s", "take=10/32d", "lose=10/44641m", "lose=10"},
	"enforce-quota":    {"30m", "budgets", "off,budgets", "off,after=30m", "after=-1m", "after=1d"},
	"override":         {"", "{}", "none"},
	"hierarchy":        {"root/eng//prod", "eng/prod", "root/"},
	"expected-runtime": {"soon", "4"},
	"checkpoint-time":  {"2026-12-01T08:30", "1764578400", "yesterday"},
	"service.type":     {"Inference", "batch", ""},
}

// TestWrongTexts expects each wrong text to be refused by its parser and by its pattern.
func TestWrongTexts(t *testing.T) {
	for name, texts := range wrongTexts {
		for _, s := range settings.Named(name) {
			for _, text := range texts {
				assert.NotEmpty(t, problem(s, text), "%s: %q", name, text)
				assert.NotRegexp(t, s.Pattern, text, "%s: %q", name, text)
			}
		}
	}
}

// TestShares expects each share to be accepted by its parser and by its pattern.
func TestShares(t *testing.T) {
	for _, name := range []string{"card.quota", "card.deserved", "card.guarantee"} {
		for _, s := range settings.Named(name) {
			for _, share := range []string{"25%", "0%", "100%", "07.5%", "12.25%,min=2", "25%,max=64", "25%,min=2,max=64", "25%,min=2,max=2"} {
				text := `{"A": 8, "@g": "` + share + `"}`
				assert.Empty(t, problem(s, text), text)
				assert.Regexp(t, s.Pattern, text)
			}
		}
	}
}

// textsOf returns texts near the example of a setting.
func textsOf(s settings.Setting) (all []string) {
	for _, text := range []string{s.Example, s.Default.Value} {
		if text == "" {
			continue
		}
		all = append(all, text, " "+text+" ", text+",", text+","+text, strings.ReplaceAll(text, ",", " , "))
		for i := range text {
			all = append(all, text[:i]+text[i+1:], text[:i]+"x"+text[i:], text[:i]+"0"+text[i:], text[:i]+"-"+text[i:])
		}
	}
	return all
}
