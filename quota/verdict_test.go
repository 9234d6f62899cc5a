package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

func TestEligible(t *testing.T) {
	queues := []queue{{name: "root"}, {name: "a"}, {name: "b<a"}, {name: "lost<nobody"}, {name: "tail<lost"},
		{name: "x<y"}, {name: "y<x"}}
	tests := []struct{ queue, tree, flat string }{
		{"root", "InnerQueue at root", "Admitted at root"},
		{"a", "InnerQueue at a", "Admitted at a"},
		{"b", "Admitted at b", "Admitted at b"},
		{"lost", "BrokenQueue at lost", "Admitted at lost"},
		{"tail", "BrokenQueue at tail", "Admitted at tail"},
		{"x", "BrokenQueue at x", "Admitted at x"},
		{"nobody", "UnknownQueue", "UnknownQueue"},
	}
	tree, flat := session("root", queues...), session("", queues...)
	for _, test := range tests {
		t.Run(test.queue, func(t *testing.T) {
			assert.Equal(t, test.tree, verdict(tree, quota.Eligible(tree.Tree, tree.Lookup(test.queue))))
			assert.Equal(t, test.flat, verdict(flat, quota.Eligible(flat.Tree, flat.Lookup(test.queue))))
		})
	}
	alone := session("root", queue{name: "root"})
	assert.True(t, quota.Eligible(alone.Tree, alone.Root()).OK(), "a root without child queues takes jobs")
}

func TestVerdictOK(t *testing.T) {
	assert.True(t, quota.Verdict{Reason: quota.Admitted, Queue: 3}.OK())
	for reason := quota.UnknownQueue; reason <= quota.OverDeserved; reason++ {
		assert.False(t, quota.Verdict{Reason: reason, Queue: index.None}.OK(), "reason %d", reason)
	}
}

// TestEndsWithPromises says which refusals may end when admitted jobs lose their promise.
func TestEndsWithPromises(t *testing.T) {
	for reason, want := range map[quota.Reason]bool{
		quota.Admitted: false, quota.ClosedQueue: false, quota.TooManyJobs: true, quota.HeldByOrder: false, quota.OverQuota: true,
		quota.OverNamespace: true, quota.OverHolder: true, quota.OverBudget: false, quota.Guaranteed: false,
	} {
		assert.Equal(t, want, reason.EndsWithPromises(), reason.String())
	}
}
