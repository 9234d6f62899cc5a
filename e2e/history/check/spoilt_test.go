package check

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/history"
)

// spoilt are histories in which one thing is wrong, each, and the rule that has to find it.
var spoilt = map[string]struct {
	tells func(*story)
	rule  Rule
}{
	"a pod above the quota": {func(s *story) {
		lending(s)
		s.node("n2", h200, 4)
		s.place("b1", "loans", "n1", 3)
		s.place("b2", "loans", "n2", 1)
	}, QuotaHolds},
	"a pod in the place of one that terminates": {func(s *story) {
		lending(s)
		s.place("b1", "loans", "n1", 3)
		s.terminate("b1")
		s.node("n2", h200, 4)
		s.place("b2", "loans", "n2", 1)
	}, QuotaHolds},
	"a pod in the place of one whose PodGroup is deleted": {func(s *story) {
		lending(s)
		s.node("n2", h200, 4)
		s.place("b1", "loans", "n1", 2)
		s.terminate("b1")
		s.write(history.Deleted, "PodGroup", s.jobs["loans"])
		s.job("others", "borrower", 1, scheduling.PodGroupInqueue)
		s.place("b2", "others", "n2", 2)
	}, QuotaHolds},
	"a card without a quota": {func(s *story) {
		lending(s)
		s.node("n2", h800, 4)
		s.submit("b1", "loans", h800, 1)
		s.bind("b1", "n2")
	}, QuotaHolds},
	"a quota that was lowered long ago": {func(s *story) {
		lending(s)
		s.queue("borrower", `quota={"NVIDIA-H200": 1}`, `guarantee={"NVIDIA-H200": 0}`)
		s.pass()
		s.place("b1", "loans", "n1", 2)
	}, QuotaHolds},
	"a last good value that was replaced long ago": {func(s *story) {
		lending(s)
		s.queue("borrower", `quota={"NVIDIA-H800": 1}`)
		s.pass()
		s.queue("borrower", "quota=")
		s.warn("borrower")
		s.pass()
		s.place("b1", "loans", "n1", 3)
	}, QuotaHolds},
	"a pod above a capability": {func(s *story) {
		plain(s)
		s.place("b1", "loans", "n1", 2)
		s.place("b2", "loans", "n2", 2)
	}, QuotaHolds},
	"pods in the place of others on a node that was created again": {func(s *story) {
		lending(s)
		s.node("n2", h200, 4)
		s.place("b1", "loans", "n1", 2)
		s.recreateNode("n1")
		s.place("l1", "own", "n1", 3)
	}, NodeHolds},
	"a queue above": {func(s *story) {
		s.mark(Configured, "", `{"plugin": "capacity-card", "hierarchy": true}`)
		s.node("n1", h200, 4)
		s.queue("above", `quota={"NVIDIA-H200": 3}`, `guarantee={}`)
		s.queue("lender", `quota={"NVIDIA-H200": 2}`, `guarantee={"NVIDIA-H200": 0}`, "parent=above")
		s.queue("borrower", `quota={"NVIDIA-H200": 2}`, `guarantee={"NVIDIA-H200": 0}`, "parent=above")
		s.job("own", "lender", 1, scheduling.PodGroupInqueue)
		s.job("loans", "borrower", 1, scheduling.PodGroupInqueue)
		s.pass()
		s.place("l1", "own", "n1", 2)
		s.place("b1", "loans", "n1", 2)
	}, QuotaHolds},
	"a namespace": {func(s *story) {
		lending(s)
		s.queue("borrower", `quota={"NVIDIA-H200": 3}`, `guarantee={"NVIDIA-H200": 0}`, `quota.by={"namespace": {"*": {"NVIDIA-H200": 1}}}`)
		s.pass()
		s.place("b1", "loans", "n1", 2)
	}, NamespaceHolds},
	"a group": {func(s *story) {
		s.mark(Configured, "", `{"plugin": "capacity-card", "groups": {"all": {"*": "1"}}}`)
		lending(s)
		s.queue("borrower", `quota={"@all": 1}`, `guarantee={"@all": 0}`)
		s.pass()
		s.place("b1", "loans", "n1", 2)
	}, GroupHolds},
	"what is guaranteed": {func(s *story) {
		lending(s)
		s.queue("lender", `quota={"NVIDIA-H200": 4}`, `guarantee={"NVIDIA-H200": 2}`)
		s.pass()
		s.place("b1", "loans", "n1", 3)
	}, GuaranteesStay},
	"what is guaranteed below a queue above": {func(s *story) {
		s.mark(Configured, "", `{"plugin": "capacity-card", "hierarchy": true}`)
		s.node("n1", h200, 8)
		s.queue("above", `quota={"NVIDIA-H200": 4}`, `guarantee={"NVIDIA-H200": 0}`)
		s.queue("lender", `quota={"NVIDIA-H200": 4}`, `guarantee={"NVIDIA-H200": 1}`, "parent=above")
		s.queue("borrower", `quota={"NVIDIA-H200": 4}`, `guarantee={"NVIDIA-H200": 0}`, "parent=above")
		s.job("loans", "borrower", 1, scheduling.PodGroupInqueue)
		s.pass()
		s.place("b1", "loans", "n1", 3)
		s.place("b2", "loans", "n1", 1)
	}, GuaranteesStay},
	"another card": {func(s *story) {
		lending(s)
		s.node("n2", h800, 4)
		s.submit("b1", "loans", h200, 1)
		s.bind("b1", "n2")
	}, RightCard},
	"one card twice": {func(s *story) {
		lending(s)
		s.node("n1", h200, 2)
		s.node("n2", h200, 2)
		s.pass()
		s.place("l1", "own", "n1", 3)
	}, NodeHolds},
	"a victim of a queue that deserves it": {func(s *story) {
		lending(s)
		s.place("b1", "loans", "n1", 1)
		s.submit("l1", "own", h200, 1)
		s.evict("b1")
	}, VictimLends},
	"a victim that is guaranteed": {func(s *story) {
		lending(s)
		s.queue("borrower", `quota={"NVIDIA-H200": 3}`, `deserved={"NVIDIA-H200": 1}`, `guarantee={"NVIDIA-H200": 2}`)
		s.pass()
		s.place("b1", "loans", "n1", 2)
		s.evict("b1")
	}, VictimLends},
	"a victim twice": {func(s *story) {
		borrow(s)
		s.terminate("b1")
		s.condemn("b2", "reclaim")
		s.terminate("b2")
		s.condemn("b2", "preempt")
	}, EvictedOnce},
	"a victim for nobody": {func(s *story) {
		lending(s)
		s.place("b1", "loans", "n1", 2)
		s.evict("b1")
		s.drop("b1")
		s.pass()
		s.mark(Quiet, "", "")
	}, EvictedForOne},
	"two victims for one": {func(s *story) {
		lending(s)
		s.place("b1", "loans", "n1", 1)
		s.place("b2", "loans", "n1", 1)
		s.place("b3", "loans", "n1", 1)
		s.submit("l1", "own", h200, 1)
		s.evict("b2")
		s.evict("b3")
		s.drop("b2")
		s.drop("b3")
		s.bind("l1", "n1")
		s.pass()
		s.mark(Quiet, "", "")
	}, EvictedForOne},
	"the place of a victim goes to its own queue": {func(s *story) {
		lending(s)
		s.place("b1", "loans", "n1", 3)
		s.submit("l1", "own", h200, 2)
		s.evict("b1")
		s.submit("b2", "loans", h200, 3)
		s.drop("b1")
		s.bind("b2", "n1")
		s.pass()
		s.mark(Quiet, "", "")
	}, EvictedForOne},
	"an eviction without end": {func(s *story) {
		lending(s)
		s.place("b1", "loans", "n1", 2)
		s.submit("l1", "own", h200, 1)
		s.evict("b1")
		s.bind("l1", "n1")
		s.pass()
		s.mark(Quiet, "", "")
	}, EvictionsEnd},
	"a pod that fits": {func(s *story) {
		lending(s)
		s.submit("l1", "own", h200, 1)
		s.pass()
		s.mark(Quiet, "", "")
	}, FitsRuns},
	"a job that fits": {func(s *story) {
		lending(s)
		s.job("late", "lender", 1, scheduling.PodGroupPending)
		s.pass()
		s.mark(Quiet, "", "")
	}, FitsAdmitted},
	"a reason with a wrong bound": {func(s *story) {
		borrow(s)
		s.says("b4", "borrower", 1, 5, 4)
		s.pass()
		s.mark(Quiet, "", "")
	}, ReasonIsTrue},
	"a reason with a wrong total": {func(s *story) {
		borrow(s)
		s.queue("borrower", `quota={"NVIDIA-H200": 1}`, `guarantee={"NVIDIA-H200": 0}`)
		s.pass()
		s.says("b4", "borrower", 1, 2, 1)
		s.pass()
		s.mark(Quiet, "", "")
	}, ReasonIsTrue},
	"a reason of cards that the pod does not name": {func(s *story) {
		borrow(s)
		s.saysOf("NVIDIA-A100|"+h800, "b4", "borrower", 1, 5, 3)
		s.pass()
		s.mark(Quiet, "", "")
	}, ReasonIsTrue},
	"a condition that is over": {func(s *story) {
		lending(s)
		s.job("loans", "borrower", 1, scheduling.PodGroupInqueue, scheduling.PodGroupCondition{
			Type: scheduling.PodGroupUnschedulableType, Status: corev1.ConditionTrue, Reason: "OverQuota",
		})
	}, AdmittedSays},
	"a warning without a cause": {func(s *story) {
		lending(s)
		s.warn("lender")
	}, WarnedForCause},
	"a metric": {func(s *story) {
		borrow(s)
		quiet(s)
		s.metrics("borrower=2000", "lender=1000")
	}, MetricsCount},
}

// TestSpoiltHistories has the checker find the error of each history, and nothing else.
func TestSpoiltHistories(t *testing.T) {
	for name, each := range spoilt {
		t.Run(name, func(t *testing.T) {
			s := tell(t)
			each.tells(s)
			report := s.check()
			require.NotEmpty(t, report.Findings)
			for _, finding := range report.Findings {
				require.Equal(t, each.rule, finding.Rule, "%s", report)
			}
		})
	}
}

// TestEveryRuleIsSpoilt has a spoilt history for each rule.
func TestEveryRuleIsSpoilt(t *testing.T) {
	found := map[Rule]bool{}
	for _, each := range spoilt {
		found[each.rule] = true
	}
	for _, rule := range []Rule{
		QuotaHolds, NamespaceHolds, GroupHolds, GuaranteesStay, RightCard, NodeHolds, VictimLends, EvictedOnce, AdmittedSays, WarnedForCause,
		EvictedForOne, FitsRuns, FitsAdmitted, ReasonIsTrue, EvictionsEnd, MetricsCount,
	} {
		require.True(t, found[rule], rule)
	}
}
