package guard

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"

	"github.com/capacity-card/capacity-card/plugin"
)

func TestMain(m *testing.M) {
	plugin.Register()
	os.Exit(m.Run())
}

// configuration returns a volcano-scheduler.conf of two tiers. A plugin is a name, or
// its options in braces.
func configuration(first, second string, actions ...string) string {
	if len(actions) == 0 {
		actions = []string{"enqueue, allocate"}
	}
	plugins := regexp.MustCompile(`\{.*\}|[^ ]+`)
	list := func(tier string) string {
		text := "- plugins:\n"
		for _, plugin := range plugins.FindAllString(tier, -1) {
			if plugin[0] != '{' {
				plugin = "{name: " + plugin + "}"
			}
			text += "  - " + plugin + "\n"
		}
		return text
	}
	return "actions: \"" + actions[0] + "\"\ntiers:\n" + list(first) + list(second)
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		is         error
	}{
		"capacity":                 {text: configuration("gang capacity", "predicates")},
		"proportion":               {text: configuration("gang", "proportion predicates")},
		"capacity-card":            {text: configuration("gang capacity-card", "predicates")},
		"none":                     {text: configuration("gang", "predicates")},
		"typo":                     {configuration("gang capcity", "predicate"), "no such plugin is registered: capcity, predicate", ErrUnknownPlugin},
		"two in a tier":            {configuration("capacity-card capacity", "gang"), "only one quota plugin can be in force: capacity-card, capacity", ErrSeveralQuotas},
		"two in two":               {configuration("capacity", "proportion"), "only one quota plugin can be in force: capacity, proportion", ErrSeveralQuotas},
		"release":                  {text: configuration("gang {name: capacity, arguments: {semantics: v1.14.4}}", "predicates")},
		"unknown release":          {configuration("gang {name: capacity, arguments: {semantics: 1.14}}", "predicates"), `capacity: argument semantics: "1.14" is not one of [v1.14.1 v1.14.4 v1.15 v1.16]`, ErrBadArgument},
		"unknown action":           {text: strings.Replace(configuration("gang", "drf"), "enqueue", "enque", 1), want: "failed to find Action enque"},
		"not YAML":                 {text: "actions: [\n", want: "yaml: "},
		"wrong structure":          {text: "actions: allocate\ntiers: 3\n", want: "cannot unmarshal"},
		"reclaim first":            {text: configuration("gang capacity-card", "predicates", "reclaim, preempt, allocate, backfill")},
		"no allocate":              {configuration("gang capacity-card", "predicates", "enqueue, reclaim"), `set actions: "enqueue, allocate, reclaim"`, ErrActionOrder},
		"reclaim first, a drop-in": {text: configuration("gang capacity", "predicates", "reclaim, allocate")},
		"reclaim first, no quotas": {text: configuration("gang", "predicates", "reclaim, allocate")},
		"empty":                    {text: "", want: "failed to find Action"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(c.text)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n")
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
		})
	}
}

// TestWarnings puts plugins that vote on the same hook in several tiers.
func TestWarnings(t *testing.T) {
	const (
		victims = "may select victims that"
		admit   = "may admit jobs that"
		refuses = "refuses jobs for which"
		noVote  = "does not check jobs that"
	)
	all := "enqueue, allocate, reclaim"
	for name, c := range map[string]struct {
		actions, first, second string
		want                   []string
	}{
		"as recommended":                                              {all, "priority gang conformance capacity", "predicates nodeorder", nil},
		"Volcano's default":                                           {"enqueue, allocate, backfill", "priority gang conformance", "overcommit drf predicates proportion nodeorder", nil},
		"Volcano's default with reclaim":                              {all, "priority gang conformance", "drf predicates proportion nodeorder", []string{"gang, conformance " + victims + " proportion"}},
		"an earlier tier":                                             {all, "conformance", "capacity", []string{"conformance " + victims + " capacity"}},
		"an earlier tier that does not vote":                          {all, "{name: conformance, enableReclaimable: false} drf", "capacity", nil},
		"a later tier":                                                {all, "capacity-card", "cdp pdb", []string{"cdp, pdb " + victims + " capacity-card"}},
		"one other plugin in the tier":                                {all, "capacity gang", "predicates", nil},
		"a third plugin is last in the tier":                          {all, "gang capacity conformance", "predicates", []string{"conformance " + victims + " capacity"}},
		"two plugins are behind the quota plugin":                     {all, "capacity gang conformance", "predicates", []string{"conformance " + victims + " capacity"}},
		"the quota plugin does not vote":                              {all, "{name: capacity, enableReclaimable: false}", "conformance", nil},
		"no quota plugin":                                             {all, "gang", "conformance overcommit", nil},
		"drf with a hierarchy":                                        {all, "capacity", "{name: drf, enableHierarchy: true}", []string{"drf " + victims + " capacity"}},
		"an extender that names victims":                              {all, "capacity", "{name: extender, arguments: {extender.reclaimableVerb: r}}", []string{"extender " + victims + " capacity"}},
		"an extender that names no victims":                           {all, "capacity", "{name: extender, arguments: {extender.predicateVerb: p}}", nil},
		"jobs are admitted in an earlier tier":                        {all, "sla overcommit", "capacity", []string{"sla, overcommit " + admit + " capacity"}},
		"jobs are admitted in one tier":                               {all, "sla overcommit capacity resourcequota", "drf", nil},
		"jobs are admitted, and a later tier has no vote":             {all, "capacity", "sla overcommit resourcequota", []string{"overcommit, resourcequota " + noVote + " capacity"}},
		"overcommit refuses whom others would give something back to": {all, "overcommit capacity-card", "drf", []string{"overcommit " + refuses + " capacity-card"}},
		"overcommit in an earlier tier": {all, "{name: conformance, enableReclaimable: false} overcommit", "capacity-card",
			[]string{"overcommit " + admit + " capacity-card", "overcommit " + refuses + " capacity-card"}},
		"overcommit without a vote":                     {all, "{name: overcommit, enableJobEnqueued: false} capacity-card", "drf", nil},
		"overcommit, and nothing is given back":         {all, "overcommit {name: capacity-card, arguments: {admitReclaimable: false}}", "drf", nil},
		"overcommit, and no action gives anything back": {"enqueue, allocate, backfill", "overcommit capacity-card", "drf", nil},
		"no enqueue":                             {"allocate", "sla", "capacity", nil},
		"a key that Volcano does not know":       {all, "{name: capacity, enabledHierarchy: true}", "predicates", []string{"Volcano ignores an unknown key: line "}},
		"reclaim before allocate":                {"enqueue, reclaim, allocate", "gang capacity", "predicates", []string{"pods that others are evicted for never start if reclaim runs"}},
		"preempt before allocate":                {"preempt, allocate", "gang proportion", "predicates", []string{"pods that others are evicted for never start if preempt runs"}},
		"reclaim before allocate without quotas": {"reclaim, allocate", "gang", "predicates", nil},
	} {
		t.Run(name, func(t *testing.T) {
			text := configuration(c.first, c.second)
			text = strings.Replace(text, "enqueue, allocate", c.actions, 1)
			require.NoError(t, Check(text))
			got := Warnings(text)
			require.Len(t, got, len(c.want), "%q", got)
			for i, want := range c.want {
				require.True(t, strings.HasPrefix(got[i], want), "%q", got[i])
			}
		})
	}
	require.Empty(t, Warnings("actions: [\n"), "Check returns the error")
}

// TestVotersAreComplete compares the voters with the sources of Volcano's plugins.
func TestVotersAreComplete(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "volcano.sh/volcano").Output()
	require.NoError(t, err)
	sources, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "pkg/scheduler/plugins/*/*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for call, voters := range map[string]voters{"ssn.AddReclaimableFn(": reclaimVoters, "ssn.AddJobEnqueueableFn(": enqueueVoters} {
		found := map[string]bool{}
		for _, source := range sources {
			content, err := os.ReadFile(source)
			require.NoError(t, err)
			name := filepath.Base(filepath.Dir(source))
			if strings.Contains(string(content), call) && !slices.Contains(plugin.Names, name) && !strings.HasSuffix(source, "_test.go") {
				found[name] = true
			}
		}
		require.ElementsMatch(t, slices.Collect(maps.Keys(voters)), slices.Collect(maps.Keys(found)), call)
	}
}

// TestWarningsAreLogged stages a configuration with a warning.
func TestWarningsAreLogged(t *testing.T) {
	var logged bytes.Buffer
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	require.NoError(t, flags.Parse([]string{"-logtostderr=false"}))
	klog.SetOutput(&logged)
	defer func() {
		klog.SetOutput(os.Stderr)
		require.NoError(t, flags.Parse([]string{"-logtostderr=true"}))
	}()
	source := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	text := strings.Replace(configuration("conformance", "capacity"), "allocate", "reclaim", 1)
	require.NoError(t, os.WriteFile(source, []byte(text), 0o600))
	s, err := NewStage(source)
	require.NoError(t, err)
	s.Close()
	klog.Flush()
	require.Contains(t, logged.String(), source+": conformance may select victims that capacity does not")
}

// TestStageRefuses stages files that are invalid or missing at start.
func TestStageRefuses(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for name, text := range map[string]string{"empty": "", "bad": configuration("capacity", "proportion")} {
		source := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(source, []byte(text), 0o600))
		_, err := NewStage(source)
		require.ErrorContains(t, err, source)
	}
	_, err := NewStage(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestStageFollows changes the file in two ways: as the kubelet updates the volume of
// a ConfigMap, which replaces a link to a directory, and in place.
func TestStageFollows(t *testing.T) {
	volume := t.TempDir()
	source := filepath.Join(volume, "volcano-scheduler.conf")
	versions := 0
	project := func(text string) {
		versions++
		data := filepath.Join(volume, "..data_"+string(rune('0'+versions)))
		require.NoError(t, os.Mkdir(data, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(data, "volcano-scheduler.conf"), []byte(text), 0o600))
		require.NoError(t, os.Symlink(data, filepath.Join(volume, "..data_tmp")))
		require.NoError(t, os.Rename(filepath.Join(volume, "..data_tmp"), filepath.Join(volume, "..data")))
	}
	one, two, three := configuration("gang", "capacity"), configuration("gang", "proportion"), configuration("drf", "proportion")
	project(one)
	require.NoError(t, os.Symlink(filepath.Join(volume, "..data", "volcano-scheduler.conf"), source))

	s, err := NewStage(source)
	require.NoError(t, err)
	staged := func() string {
		content, err := os.ReadFile(s.Path())
		require.NoError(t, err)
		return string(content)
	}
	require.Equal(t, one, staged())

	// Invalid content is read and changes nothing.
	for _, bad := range []string{configuration("gang", "capacty"), configuration("capacity", "capacity-card"), ""} {
		project(bad)
		changed, err := s.update()
		require.True(t, changed)
		require.Error(t, err)
		require.Equal(t, one, staged())
		changed, err = s.update()
		require.False(t, changed, "the error is returned again")
		require.NoError(t, err)
	}

	followed := make(chan struct{})
	go func() {
		s.Follow()
		close(followed)
	}()
	becomes := func(text string) {
		t.Helper()
		require.Eventually(t, func() bool { return staged() == text }, 10*time.Second, time.Millisecond)
	}
	project(two)
	becomes(two)
	require.NoError(t, os.Remove(source))
	require.NoError(t, os.WriteFile(source, []byte(three), 0o600))
	becomes(three)
	s.Close()
	<-followed
	require.NoDirExists(t, s.directory)
}
