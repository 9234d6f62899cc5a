// Package profiles_test reads the profiles that make profile leaves here.
package profiles_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hot are the hooks that Volcano calls for each task, job or queue, and the counting of jobs
// at the opening of a session. None of them allocates.
var hot = regexp.MustCompile(`/plugin\.\(\*(session|tally)\)\.(allocatable|jobEnqueueable|jobEnqueued|preemptive|queueOrder|victimQueueOrder|onAllocate|onDeallocate|predicate|nodeOrder|countAll)$`)

// kept is memory that grows once and stays for all later sessions: the rows that changes
// after a snapshot go to, the series of a queue that has none yet, what is reserved of
// cards when a session first asks, and the reason of a first refusal. A profile
// has the first session of its process, too; that a second call allocates nothing
// is held by tests beside the code.
var kept = regexp.MustCompile(`/index\.\(\*ledger\)\.mutable$|/prometheus\.\(\*(Gauge|Histogram)Vec\)\.WithLabelValues$|/report\.\(\*accountGauges\)\.set|/reserve\.\(\*Reservations\)\.|/report\.\(\*Journal\)\.Refuse$`)

// TestHotPathsDoNotAllocate looks for memory that is allocated on the way from a
// hot path of ours, in the profiles of the processor and of the heap alike.
func TestHotPathsDoNotAllocate(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range find(t, "*-ours-*.pb.gz") {
		heap := strings.HasSuffix(path, "-heap.pb.gz")
		for _, sample := range parse(t, path).Sample {
			stack := functions(sample)
			i := slices.IndexFunc(stack, hot.MatchString)
			if i < 0 {
				continue
			}
			seen[hot.FindStringSubmatch(stack[i])[2]] = true
			if slices.ContainsFunc(stack[:i], kept.MatchString) {
				continue
			}
			if heap || slices.Contains(stack[:i], "runtime.mallocgc") {
				t.Errorf("%s: %s allocates: %s", path, stack[i], strings.Join(stack[:i], " < "))
			}
		}
	}
	for _, name := range []string{"allocatable", "jobEnqueueable", "preemptive", "queueOrder", "onAllocate", "onDeallocate", "countAll"} {
		assert.Contains(t, seen, name, "no profile has it, so they show nothing")
	}
}

// TestUpstreamsProfilesShowWhatTheyAreOf guards against profiles of nothing: what
// upstream spends its time and memory on is known.
func TestUpstreamsProfilesShowWhatTheyAreOf(t *testing.T) {
	for _, path := range find(t, "*-upstream-*.pb.gz") {
		assert.True(t, slices.ContainsFunc(parse(t, path).Sample, func(s *profile.Sample) bool {
			return slices.ContainsFunc(functions(s), func(f string) bool { return strings.Contains(f, "plugins/capacity.") })
		}), path)
	}
}

// TestEveryProfileHasItsPage and every page its profile.
func TestEveryProfileHasItsPage(t *testing.T) {
	for _, path := range find(t, "*.pb.gz") {
		assert.FileExists(t, strings.TrimSuffix(path, ".pb.gz")+".txt")
	}
	for _, path := range find(t, "*.txt") {
		assert.FileExists(t, strings.TrimSuffix(path, ".txt")+".pb.gz")
	}
}

func find(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

func parse(t *testing.T, path string) *profile.Profile {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	p, err := profile.Parse(file)
	require.NoError(t, err, path)
	return p
}

// functions is a stack from the leaf on.
func functions(sample *profile.Sample) []string {
	var names []string
	for _, location := range sample.Location {
		for _, line := range location.Line {
			names = append(names, line.Function.Name)
		}
	}
	return names
}
