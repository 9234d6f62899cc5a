package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"

	"github.com/capacity-card/capacity-card/plugin"
)

func TestMain(m *testing.M) {
	plugin.Register()
	os.Exit(m.Run())
}

// configuration is a volcano-scheduler.conf of two tiers.
func configuration(first, second string) string {
	list := func(names string) string {
		return "- plugins:\n  - name: " + strings.ReplaceAll(names, " ", "\n  - name: ") + "\n"
	}
	return "actions: \"enqueue, allocate\"\ntiers:\n" + list(first) + list(second)
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		is         error
	}{
		"capacity":        {text: configuration("gang capacity", "predicates")},
		"proportion":      {text: configuration("gang", "proportion predicates")},
		"capacity-card":   {text: configuration("gang capacity-card", "predicates")},
		"none":            {text: configuration("gang", "predicates")},
		"typo":            {configuration("gang capcity", "predicate"), "no such plugin is registered: capcity, predicate", ErrUnknownPlugin},
		"two in a tier":   {configuration("capacity-card capacity", "gang"), "only one quota plugin can be in force: capacity-card, capacity", ErrSeveralQuotas},
		"two in two":      {configuration("capacity", "proportion"), "only one quota plugin can be in force: capacity, proportion", ErrSeveralQuotas},
		"unknown action":  {text: strings.Replace(configuration("gang", "drf"), "enqueue", "enque", 1), want: "failed to find Action enque"},
		"no YAML":         {text: "actions: [\n", want: "yaml: "},
		"wrong structure": {text: "actions: allocate\ntiers: 3\n", want: "cannot unmarshal"},
		"empty":           {text: "", want: "failed to find Action"},
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

// TestStageRefuses has what is there at the start be bad.
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

// TestStageFollows changes the file as the kubelet changes a ConfigMap's volume, by
// replacing a link to a directory, and in place.
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

	// What is bad is looked at, and changes nothing.
	for _, bad := range []string{configuration("gang", "capacty"), configuration("capacity", "capacity-card"), ""} {
		project(bad)
		changed, err := s.update()
		require.True(t, changed)
		require.Error(t, err)
		require.Equal(t, one, staged())
		changed, err = s.update()
		require.False(t, changed, "told once")
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
