package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// TestNamespaces has the queues of the example: team limits each namespace to 8 cards, and its
// child train to 4. Queue free is in no queue with a limit.
func TestNamespaces(t *testing.T) {
	ix := session("root", queue{name: "root"}, queue{name: "team"}, queue{name: "train<team"}, queue{name: "serve<team"}, queue{name: "free"})
	train, serve, team := lookup(t, ix, "train"), lookup(t, ix, "serve"), lookup(t, ix, "team")
	limited := make([]bool, ix.Len())
	limited[team], limited[train] = true, true
	var n quota.Namespaces
	n.Reset(ix.Tree, dims, limited, func(yield func(index.Queue, string) bool) {
		_ = yield(train, "a") && yield(serve, "a") && yield(train, "b") && yield(lookup(t, ix, "free"), "a") && yield(train, "a")
	})
	require.True(t, n.Active())
	for account, place := range n.Places() {
		n.Accounts.RealCapability.Row(account).Set(gpu, map[index.Queue]float64{team: 8, train: 4}[place.Queue])
	}
	inTrain, inServe, b := n.Account(train, "a"), n.Account(serve, "a"), n.Account(train, "b")
	require.NotEqual(t, inTrain, b)
	assert.Equal(t, index.None, n.Account(lookup(t, ix, "free"), "a"))
	assert.Equal(t, index.None, n.Account(train, "unknown"))
	assert.Equal(t, index.None, n.Account(index.None, "a"))

	ask := func(at index.Queue, cards float64) string {
		v := quota.Allocatable(&n.Accounts, &n.Accounts.RealCapability, at, res{gpu: cards, cpu: 1000}.vector())
		if !v.OK() {
			return verdict(ix, n.Refusal(v))
		}
		return "Admitted"
	}
	charge := func(at index.Queue, cards float64) {
		quota.Charge(&n.Accounts, at, res{gpu: cards, cpu: 1000}.vector())
	}
	charge(inTrain, 3)
	assert.Equal(t, "Admitted", ask(inTrain, 1))
	assert.Equal(t, "OverNamespace at train", ask(inTrain, 2))
	charge(inServe, 5)
	assert.Equal(t, "OverNamespace at team", ask(inTrain, 1))
	assert.Equal(t, "OverNamespace at team", ask(inServe, 1))
	assert.Equal(t, "Admitted", ask(b, 4), "another namespace")
	scratch := fastres.NewVector(dims)
	quota.Refund(&n.Accounts, inServe, res{gpu: 5, cpu: 1000}.vector(), scratch)
	assert.Equal(t, "Admitted", ask(inTrain, 1))

	n.Reset(ix.Tree, dims, nil, nil)
	assert.False(t, n.Active())
	assert.Equal(t, index.None, n.Account(train, "a"))
}
