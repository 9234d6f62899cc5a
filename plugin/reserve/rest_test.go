package reserve

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/cards"
)

// TestRest compares random gangs with an enumeration of all ways to give their pods cards: a card is left
// if the other pods can all have cards, and can not once the pod has taken that one.
func TestRest(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 31))
	var rest Rest
	left, kept := 0, 0
	for range 300 {
		gang := pods("gang", "A", 0)
		var lists [][]string
		var sizes []int
		for range 2 + r.IntN(4) {
			list := []string{"A", "B", "C"}
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			list = list[:1+r.IntN(3)]
			size := 1 + r.IntN(2)
			lists, sizes = append(lists, list), append(sizes, size)
			gang.Tasks = append(gang.Tasks, pods("pod"+string(rune('0'+len(lists))), strings.Join(list, "|"), 1, int64(size)).Tasks...)
		}
		gang.MinMember = int32(len(lists))
		f := open(t, `{"A":8,"B":8,"C":8}`, cards.Settings{}, gang)
		room := map[string]int{"A": r.IntN(4), "B": r.IntN(4), "C": r.IntN(4)}
		info, _ := f.read(t, "gang")
		rest.Begin(f.names.Len())
		for i, spec := range gang.Tasks {
			var want, got []string
			others := func() bool {
				return someWay(slices.Delete(slices.Clone(lists), i, i+1), slices.Delete(slices.Clone(sizes), i, i+1), room)
			}
			for _, card := range lists[i] {
				if len(lists[i]) > 1 && room[card] >= sizes[i] && others() {
					room[card] -= sizes[i]
					if !others() {
						want = append(want, card)
					}
					room[card] += sizes[i]
				}
			}
			task := taskOf(info, spec.Name)
			for _, d := range rest.Needs(f.Snapshot, info, task, f.Read(task), func(d fastres.Dim) float64 { return 1000 * float64(room[f.names.Name(d)]) }) {
				got = append(got, f.names.Name(d))
			}
			require.Equal(t, want, got, "pod %d of %v, sizes %v, room %v", i, lists, sizes, room)
			left, kept = left+len(want), kept+len(lists[i])-len(want)
		}
	}
	require.Greater(t, left, 50)
	require.Greater(t, kept, 50)
}

// someWay tries all cards for the first pod, and so on.
func someWay(lists [][]string, sizes []int, room map[string]int) bool {
	if len(lists) == 0 {
		return true
	}
	for _, card := range lists[0] {
		if room[card] >= sizes[0] {
			room[card] -= sizes[0]
			ok := someWay(lists[1:], sizes[1:], room)
			room[card] += sizes[0]
			if ok {
				return true
			}
		}
	}
	return false
}

func taskOf(job *api.JobInfo, name string) *api.TaskInfo {
	for _, task := range job.Tasks {
		if task.Name == name {
			return task
		}
	}
	return nil
}

// TestRestOfAPodBeyondTheMinimum has a minimum of one pod, which is the smallest pod. The other pod leaves it the
// card that it needs.
func TestRestOfAPodBeyondTheMinimum(t *testing.T) {
	gang := pods("gang", "A", 0)
	gang.Tasks = append(pods("small", "A|B", 1, 1).Tasks, pods("large", "A|B", 1, 2).Tasks...)
	gang.MinMember = 1
	f := open(t, `{"A":8,"B":8}`, cards.Settings{}, gang)
	info, _ := f.read(t, "gang")
	var rest Rest
	rest.Begin(f.names.Len())
	left := map[string]float64{"A": 2000}
	for name, want := range map[string][]string{gang.Tasks[0].Name: nil, gang.Tasks[1].Name: {"A"}} {
		var got []string
		task := taskOf(info, name)
		for _, d := range rest.Needs(f.Snapshot, info, task, f.Read(task), func(d fastres.Dim) float64 { return left[f.names.Name(d)] }) {
			got = append(got, f.names.Name(d))
		}
		require.Equal(t, want, got, name)
	}
}
