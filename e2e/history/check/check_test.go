package check

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/history"
)

var (
	file    = flag.String("history", "", "a history for TestHistory")
	shorten = flag.String("shorten", "", "where TestHistory writes what shows the first finding of each rule, shortened: the beginning of paths")
)

// TestHistory checks the history of a file, such as one that make torture kept.
func TestHistory(t *testing.T) {
	if *file == "" {
		return
	}
	records, err := history.Open(*file)
	require.NoError(t, err)
	report, err := Run(records)
	require.NoError(t, err)
	t.Logf("%s", report)
	seen := map[Rule]bool{}
	for i, finding := range report.Findings {
		if *shorten == "" || seen[finding.Rule] {
			continue
		}
		seen[finding.Rule] = true
		shortened, err := Shorten(records, finding)
		require.NoError(t, err)
		require.NoError(t, history.Write(fmt.Sprintf("%s-%d.json.gz", *shorten, i), shortened))
	}
	require.Empty(t, report.Findings)
}

// lending has two queues that share four cards: lender may have them all, deserves two, and is guaranteed one.
func lending(s *story) {
	s.node("n1", h200, 4)
	s.queue("lender", `quota={"NVIDIA-H200": 4}`, `deserved={"NVIDIA-H200": 2}`, `guarantee={"NVIDIA-H200": 1}`)
	s.queue("borrower", `quota={"NVIDIA-H200": 3}`, `deserved={"NVIDIA-H200": 1}`, `guarantee={"NVIDIA-H200": 0}`)
	s.job("loans", "borrower", 1, scheduling.PodGroupRunning)
	s.job("own", "lender", 1, scheduling.PodGroupInqueue)
	s.pass()
}

// borrow has the borrower use three of the four cards, and the lender's job take one back.
func borrow(s *story) {
	lending(s)
	s.place("b1", "loans", "n1", 1)
	s.place("b2", "loans", "n1", 1)
	s.place("b3", "loans", "n1", 1)
	s.place("l1", "own", "n1", 1)
	s.submit("l2", "own", h200, 1)
	s.evict("b3")
	s.nominate("l2", "n1")
	s.submit("b4", "loans", h200, 1)
	s.drop("b3")
	s.bind("l2", "n1")
	s.pass()
	s.says("b4", "borrower", 1, 4, 3)
}

// quiet has the state of borrow at rest.
func quiet(s *story) {
	s.queue("borrower", `quota={"NVIDIA-H200": 2}`, `deserved={"NVIDIA-H200": 1}`, `guarantee={"NVIDIA-H200": 0}`)
	s.says("b4", "borrower", 1, 3, 2)
	s.pass()
	s.mark(Quiet, "", "")
	s.metrics("borrower=2000", "lender=2000")
}

// plain has a queue of three GPUs of any model on two nodes.
func plain(s *story) {
	s.mark(Configured, "", `{"plugin": "proportion", "plain": true}`)
	s.node("n1", h200, 4)
	s.node("n2", h800, 4)
	s.queue("borrower", "capability=3")
	s.job("loans", "borrower", 1, scheduling.PodGroupRunning)
	s.pass()
}

// TestCleanHistories has histories in which nothing is wrong.
func TestCleanHistories(t *testing.T) {
	for name, tells := range map[string]func(*story){
		"borrowing":      func(s *story) { borrow(s); quiet(s) },
		"within a quota": func(s *story) { lending(s); s.place("l1", "own", "n1", 4) },
		"a pod that has ended": func(s *story) {
			lending(s)
			s.place("b1", "loans", "n1", 3)
			s.end("b1")
			s.place("b2", "loans", "n1", 3)
		},
		"a quota that was just lowered": func(s *story) {
			lending(s)
			s.queue("borrower", `quota={"NVIDIA-H200": 1}`, `guarantee={"NVIDIA-H200": 0}`)
			s.place("b1", "loans", "n1", 2)
		},
		"a quota that was lowered below what runs": func(s *story) {
			lending(s)
			s.place("b1", "loans", "n1", 2)
			s.queue("borrower", `quota={"NVIDIA-H200": 1}`, `guarantee={"NVIDIA-H200": 0}`)
			s.pass()
			s.end("b1")
			s.place("b2", "loans", "n1", 1)
		},
		"the last good value": func(s *story) {
			lending(s)
			s.queue("borrower", `quota={"NVIDIA-H200": 3`)
			s.warn("borrower")
			s.pass()
			s.place("b1", "loans", "n1", 3)
		},
		"the last good value that the scheduler saw": func(s *story) {
			lending(s)
			s.queue("borrower", `quota={"NVIDIA-H800": 1}`)
			s.queue("borrower", "quota=")
			s.warn("borrower")
			s.pass()
			s.place("b1", "loans", "n1", 3)
		},
		"a node that is relabeled below a pod, and another scheduler": func(s *story) {
			lending(s)
			s.place("b1", "loans", "n1", 3)
			s.node("n1", h800, 4)
			s.pass()
			s.mark(Restart, "scheduler-1", "")
			s.node("n2", h200, 4)
			s.pass()
			s.place("b2", "loans", "n2", 3)
		},
		"a reason of two cards together": func(s *story) {
			lending(s)
			s.place("b1", "loans", "n1", 3)
			s.submit("b2", "loans", h800+"|"+h200, 1)
			s.saysOf(h200+"|"+h800, "b2", "borrower", 1, 5, 3)
			s.pass()
			s.mark(Quiet, "", "")
		},
		"a node that is relabeled below a pod": func(s *story) {
			lending(s)
			s.place("b1", "loans", "n1", 3)
			s.node("n1", h800, 4)
			s.pass()
			s.node("n2", h200, 4)
			s.place("l1", "own", "n2", 4)
		},
		"two leaders, which nothing fences": func(s *story) {
			lending(s)
			s.place("b1", "loans", "n1", 3)
			s.mark(Fenced, "scheduler-1", "")
			s.place("b2", "loans", "n1", 1)
			s.mark(FenceEnds, "scheduler-1", "")
		},
		"a program that knows no quotas, for a while": func(s *story) {
			lending(s)
			s.node("n2", h800, 4)
			s.mark(Replaced, "", "")
			s.place("b1", "loans", "n1", 4)
			s.place("b2", "loans", "n2", 1)
			s.mark(ReplacedEnds, "", "")
			s.pass()
			s.end("b1")
			s.place("b3", "loans", "n1", 2)
		},
		"a victim beside a pod that got its node in the same cycle": func(s *story) {
			lending(s)
			s.place("b1", "loans", "n1", 1)
			s.submit("l1", "own", h200, 1)
			s.evict("b1")
			s.place("b2", "loans", "n1", 1)
		},
		"a queue that deserves what is guaranteed to another one": func(s *story) {
			lending(s)
			s.place("b1", "loans", "n1", 1)
			s.queue("lender", `quota={"NVIDIA-H200": 4}`, `guarantee={"NVIDIA-H200": 4}`)
			s.pass()
			s.evict("b1")
		},
		"a resource, whatever the cards, without what terminates": func(s *story) {
			plain(s)
			s.place("b1", "loans", "n1", 2)
			s.place("b2", "loans", "n2", 1)
			s.terminate("b1")
			s.place("b3", "loans", "n2", 2)
		},
		"a victim whose reclaimer is cancelled": func(s *story) {
			lending(s)
			s.place("b1", "loans", "n1", 2)
			s.submit("l1", "own", h200, 3)
			s.evict("b1")
			s.nominate("l1", "n1")
			s.drop("l1")
			s.drop("b1")
			s.pass()
			s.mark(Quiet, "", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t)
			tells(s)
			report := s.check()
			require.Empty(t, report.Findings, "%s", report)
		})
	}
}

// TestExcused has histories that break a rule, each with a reason that excuses it.
func TestExcused(t *testing.T) {
	for reason, tells := range map[string]func(*story){
		newNode: func(s *story) {
			plain(s)
			s.queue("borrower")
			s.place("b1", "loans", "n1", 2)
			s.recreateNode("n1")
			s.place("b2", "loans", "n1", 3)
		},
		line: func(s *story) {
			lending(s)
			s.queue("third", `quota={"NVIDIA-H200": 2}`, `guarantee={"NVIDIA-H200": 0}`)
			s.job("thirds", "third", 1, scheduling.PodGroupRunning)
			s.pass()
			s.place("b1", "loans", "n1", 2)
			s.place("t1", "thirds", "n1", 1)
			s.terminate("b1")
			s.submit("l1", "own", h200, 2)
			s.pass()
			s.place("b2", "loans", "n1", 1)
		},
		kept: func(s *story) {
			lending(s)
			s.place("b1", "loans", "n1", 2)
			s.submit("l1", "own", h200, 4)
			s.mark(Fault, "errors", "")
			s.evict("b1")
			s.mark(FaultEnds, "errors", "")
			s.drop("b1")
			s.job("small", "borrower", 1, scheduling.PodGroupInqueue)
			s.submit("b2", "small", h200, 1)
			s.pass()
			s.mark(Quiet, "", "")
		},
		olderReason: func(s *story) {
			borrow(s)
			s.queue("borrower", `quota={"NVIDIA-H200": 2}`, `deserved={"NVIDIA-H200": 1}`, `guarantee={"NVIDIA-H200": 0}`)
			s.pass()
			s.mark(Quiet, "", "")
		},
		"a pod was bound when the history did not see it": func(s *story) {
			lending(s)
			s.place("b1", "loans", "n1", 3)
			s.submit("b2", "loans", h200, 1)
			s.records = append(s.records, history.Record{Revision: s.revision + 1, Time: s.now, Type: history.Gap, Kind: "Pod", From: s.revision})
			s.pods["b2"].Spec.NodeName = "n1"
			s.write(history.Listed, "Pod", s.pods["b2"])
		},
		"the bound was lowered when the pod was bound": func(s *story) {
			lending(s)
			s.queue("borrower", `quota={"NVIDIA-H200": 1}`, `guarantee={"NVIDIA-H200": 0}`)
			s.place("b1", "loans", "n1", 2)
		},
		"an eviction was begun and not finished: Volcano deletes no pod that it has marked before": func(s *story) {
			lending(s)
			s.place("b1", "loans", "n1", 2)
			s.submit("l1", "own", h200, 4)
			s.condemn("b1", "reclaim")
			s.pass()
			s.mark(Quiet, "", "")
		},
	} {
		t.Run(reason, func(t *testing.T) {
			s := tell(t)
			tells(s)
			report := s.check()
			require.Empty(t, report.Findings, "%s", report)
			require.Positive(t, report.Excused[reason], "%s", report)
		})
	}
}

// TestShorten drops the records that a finding does not need, and finds the same in the records that are left.
func TestShorten(t *testing.T) {
	s := tell(t)
	borrow(s)
	for i := range 30 {
		name := fmt.Sprintf("other-%d", i)
		s.queue(name, `quota={"NVIDIA-H800": 1}`, `guarantee={"NVIDIA-H200": 0}`)
		s.job(name, name, 1, scheduling.PodGroupRunning)
		s.submit(name, name, h800, 1)
	}
	s.place("b5", "loans", "n1", 2)
	s.place("b6", "loans", "n1", 2)
	report := s.check()
	finding := report.Findings[0]
	require.Equal(t, QuotaHolds, finding.Rule)
	records, err := Shorten(history.Sorted(s.records), finding)
	require.NoError(t, err)
	require.Less(t, len(records), 15, "of %d", len(s.records))
	again, err := Run(records)
	require.NoError(t, err)
	require.True(t, again.Findings[0].same(finding), "%s", again)
}

// TestWindow extends the period that a decision may not have seen, over faults that are close to it.
func TestWindow(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	lag := int(Lag / time.Second)
	var w windows
	require.Equal(t, at(100-lag), w.view(at(100)))
	for _, each := range []struct {
		what string
		at   int
	}{{Fault, 20}, {FaultEnds, 25}, {Fault, 90}, {FaultEnds, 94}, {Fault, 97}} {
		require.True(t, w.mark(each.what, "slow", at(each.at)))
	}
	require.Equal(t, at(30-lag-10), w.view(at(30)), "a fault that ended in the window")
	require.Equal(t, at(60-lag), w.view(at(60)), "none")
	require.Equal(t, at(90-lag), w.view(at(100)), "two in a row, the last of which lasts")
	require.True(t, w.mark(FaultEnds, "slow", at(110)))
	require.Equal(t, at(200-lag), w.view(at(200)))
}
