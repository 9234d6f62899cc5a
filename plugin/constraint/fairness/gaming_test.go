package fairness_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// A game has two departments of equal weight that always wait for 64 cards. honest submits pods that run for a
// minute; player makes the moves of each test. A session is every 5 seconds, and the half-life is 50 minutes.
const (
	gameCards    = 64
	gameGap      = 5 * time.Second
	gameSessions = 360 // the first fifth does not count
)

// gameMove holds the jobs that one leaf of player submits in a session.
type gameMove struct {
	queue       string
	pods        int
	jobs        int    // with that many pods each; 1 if nothing else is said
	runs        int    // sessions
	decoys      bool   // pods with a card that no node has
	list        string // of its pods, in place of A
	terminating bool   // its pods take a minute to end, after they have run
}

type gamePod struct {
	queue      string
	ends, gone int // sessions
}

// share returns the part of all cards that player gets.
func share(t *testing.T, sessions int, plays func(session int) []gameMove) float64 {
	t.Helper()
	c := testbed.NewScheduler(framework.Arguments{arguments.FairShareHalfLife: "50m", arguments.FairShareMap: map[string]any{"by": "weight"}, arguments.StateStore: "none"})
	var running []gamePod
	got, all, r := 0, 0, rand.New(rand.NewPCG(1, 1))
	for session := range sessions {
		moves := append(plays(session), gameMove{queue: "honest", pods: gameCards, runs: 12})
		f := c.Open(t, gameScene(session, moves, running), gameGap).Run(t, allocate.New())
		for _, m := range moves {
			for range placedIn(f, m.queue) {
				p := gamePod{queue: m.queue, ends: session + m.runs - m.runs/2 + r.IntN(m.runs)}
				if p.gone = p.ends; m.terminating {
					p.gone += 12
				}
				running = append(running, p)
			}
		}
		f.Close()
		if session >= sessions/5 {
			all += len(running)
			for _, p := range running {
				if p.queue != "honest" {
					got++
				}
			}
		}
		running = slices.DeleteFunc(running, func(p gamePod) bool { return p.gone <= session+1 })
	}
	return float64(got) / float64(all)
}

// placedIn returns how many pods of a queue got nodes in this session.
func placedIn(f *testbed.Fixture, queue string) (n int) {
	for _, job := range f.Jobs {
		if string(job.Queue) == queue {
			n += len(job.TaskStatusIndex[api.Binding])
		}
	}
	return n
}

func gameScene(session int, moves []gameMove, running []gamePod) *testbed.Scene {
	s := testbed.NewScene().Node("a", "A", gameCards)
	bounds := func(name, parent string) {
		s.Queue(name, parent, "quota", `{"A":64,"B":64}`, "deserved", `{"A":0,"B":0}`, "guarantee", `{"A":0,"B":0}`)
	}
	bounds("player", "")
	bounds("fair", "")
	s.Hierarchy = true
	for _, m := range moves {
		parent := "player"
		if m.queue == "honest" {
			parent = "fair"
		}
		bounds(m.queue, parent)
		for job := range max(1, m.jobs) {
			s.Pods(fmt.Sprintf("%s.%d.%d", m.queue, session, job), m.queue, cmp.Or(m.list, "A"), m.pods, 1, testbed.InPhase("Inqueue"))
		}
		if m.decoys {
			s.Pods(m.queue+".decoys", m.queue, "B", 4, 1, testbed.InPhase("Inqueue"))
		}
	}
	for i, p := range running {
		s.Pods(fmt.Sprintf("%s.%d.%d.runs", p.queue, i, p.ends), p.queue, "A", 1, 1, testbed.On("a"), func(j *workload.Job) {
			if p.ends <= session {
				j.Tasks[0].Status = workload.TaskReleasing
			}
		})
	}
	return s
}

// subqueues returns the moves of 100 queues with one pod each.
func subqueues(list string) (all []gameMove) {
	for q := range 100 {
		all = append(all, gameMove{queue: fmt.Sprint("p", q), pods: 1, runs: 12, list: list})
	}
	return all
}

// TestGamingGainsNothing compares the share of player with its share when it plays as honest does.
func TestGamingGainsNothing(t *testing.T) {
	always := func(p gameMove) func(int) []gameMove { return func(int) []gameMove { return []gameMove{p} } }
	plain := gameMove{queue: "p", pods: gameCards, runs: 12}
	base := share(t, gameSessions, always(plain))
	assert.InDelta(t, 0.5, base, 0.01)
	for name, plays := range map[string]func(int) []gameMove{
		"100 subqueues": func(int) []gameMove { return subqueues("") },
		"100 subqueues whose pods take several cards": func(int) []gameMove { return subqueues("B|A") },
		"100 subqueues at once every five minutes": func(session int) []gameMove {
			all := append(subqueues(""), plain)
			if session%60 != 0 {
				for q := range subqueues("") {
					all[q].pods = 0
				}
				return all
			}
			all[100].pods = 0
			return all
		},
		"short jobs": always(gameMove{queue: "p", pods: gameCards, runs: 1}),
		"decoys":     always(gameMove{queue: "p", pods: gameCards, runs: 12, decoys: true}),
		"lists that begin with a card that no node has": always(gameMove{queue: "p", pods: gameCards, runs: 12, list: "B|A"}),
		"slow endings": always(gameMove{queue: "p", pods: gameCards, runs: 12, terminating: true}),
		"10,000 jobs in one session": func(session int) []gameMove {
			if session == gameSessions/2 {
				return []gameMove{{queue: "p", pods: 1, jobs: 10000, runs: 12}}
			}
			return []gameMove{plain}
		},
		"a new queue every five minutes": func(session int) []gameMove { // the pods of the last one run on
			now := session / 60
			return []gameMove{{queue: fmt.Sprint("p", now), pods: gameCards, runs: 12}, {queue: fmt.Sprint("p", now-1), runs: 12}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := share(t, gameSessions, plays)
			t.Logf("%.4f beside %.4f", got, base)
			assert.LessOrEqual(t, got, 1.01*base)
		})
	}
}
