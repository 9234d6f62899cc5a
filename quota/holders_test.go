package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

func namespace(name string) quota.Holder {
	return quota.Holder{Key: quota.HolderNamespace, Value: name}
}
func user(name string) quota.Holder  { return quota.Holder{Key: quota.HolderUser, Value: name} }
func group(name string) quota.Holder { return quota.Holder{Key: quota.HolderGroup, Value: name} }

// limitsOf are limits of cards by queue and key, for each holder by itself.
type limitsOf map[string]map[string]float64

// holders makes accounts of jobs under limits.
func holders(ix *index.Index, limits limitsOf, jobs ...quota.HolderJobs) (*quota.Holders, []index.Queue) {
	limitOf := func(q index.Queue, h quota.Holder) (float64, bool) {
		limit, limited := limits[ix.Name(q)][h.Key]
		return limit, limited
	}
	h := &quota.Holders{}
	accounts := h.Reset(ix.Tree, dims, jobs, func(q index.Queue, holder quota.Holder) bool {
		_, limited := limitOf(q, holder)
		return limited
	})
	for account, place := range h.Places() {
		limit, _ := limitOf(place.Queue, place.Holder)
		h.Accounts.RealCapability.Row(account).Set(gpu, limit)
	}
	return h, accounts
}

// TestHolders has the queues of the example: team limits each namespace to 8 cards, and its
// child train to 4. Queue free is in no queue with a limit.
func TestHolders(t *testing.T) {
	ix := session("root", queue{name: "root"}, queue{name: "team"}, queue{name: "train<team"}, queue{name: "serve<team"}, queue{name: "free"})
	train, serve, free := lookup(t, ix, "train"), lookup(t, ix, "serve"), lookup(t, ix, "free")
	of := func(q index.Queue, all ...quota.Holder) quota.HolderJobs {
		return quota.HolderJobs{Queue: q, Holders: all}
	}
	n, accounts := holders(ix, limitsOf{"team": {"namespace": 8, "user": 2}, "train": {"namespace": 4}},
		of(train, namespace("a")), of(serve, namespace("a")), of(train, namespace("b")), of(free, namespace("a")),
		of(serve, namespace("b"), user("u")), of(train, namespace("b"), user("u")), of(serve, namespace("b"), user("u")), of(serve, group("g")))
	inTrain, inServe, b, both := accounts[0], accounts[1], accounts[2], accounts[5]
	assert.Equal(t, index.None, accounts[3], "no queue above has a limit")
	assert.Equal(t, index.None, accounts[7], "no queue limits groups")
	assert.Equal(t, accounts[4], accounts[6], "the same holders")
	require.NotEqual(t, inTrain, b)
	var path []string
	for _, p := range n.Accounts.Path(both) {
		if place := n.Place(p); place.Queue != index.None {
			path = append(path, place.String()+" in "+ix.Name(place.Queue))
		}
	}
	assert.Equal(t, []string{"namespace <b> in train", "namespace <b> in team", "user <u> in team"}, path)

	ask := func(at index.Queue, cards float64) string {
		v := quota.Allocatable(&n.Accounts, &n.Accounts.RealCapability, at, res{gpu: cards, cpu: 1000}.vector())
		if !v.OK() {
			return verdict(ix, n.Refusal(v))
		}
		return "Admitted"
	}
	scratch := fastres.NewVector(dims)
	charge := func(at index.Queue, cards float64) {
		quota.Charge(&n.Accounts, at, res{gpu: cards, cpu: 1000}.vector())
	}
	refund := func(at index.Queue, cards float64) {
		quota.Refund(&n.Accounts, at, res{gpu: cards, cpu: 1000}.vector(), scratch)
	}
	charge(inTrain, 3)
	assert.Equal(t, "Admitted", ask(inTrain, 1))
	assert.Equal(t, "OverNamespace at train", ask(inTrain, 2))
	charge(inServe, 5)
	assert.Equal(t, "OverNamespace at team", ask(inTrain, 1))
	assert.Equal(t, "OverNamespace at team", ask(inServe, 1))
	assert.Equal(t, "Admitted", ask(b, 4), "another namespace")
	refund(inServe, 5)
	assert.Equal(t, "Admitted", ask(inTrain, 1))

	charge(both, 1)
	assert.Equal(t, "Admitted", ask(both, 1))
	assert.Equal(t, "OverHolder at team", ask(both, 2))
	assert.Equal(t, "OverHolder at team", ask(accounts[4], 2), "the user in another queue")
	charge(b, 3)
	assert.Equal(t, "OverNamespace at train", ask(both, 1), "the namespace has 4 in train")
	refund(both, 9)
	assert.Equal(t, "Admitted", ask(accounts[4], 2))
	assert.Equal(t, "OverNamespace at train", ask(b, 2), "a refund of more than the job has takes nothing from others")
	assert.Equal(t, "Admitted", ask(b, 1))
}

// TestHoldersInqueue reserves cards for jobs of a user and a group, each with a limit of 3 in q. A job counts in q as
// far as both limits have room for jobs of both, and in each account as far as it goes.
func TestHoldersInqueue(t *testing.T) {
	ix := session("root", queue{name: "root"}, queue{name: "q"})
	q := lookup(t, ix, "q")
	ix.RealCapability.Row(q).Set(gpu, 100)
	n, accounts := holders(ix, limitsOf{"q": {"user": 3, "group": 3}},
		quota.HolderJobs{Queue: q, Holders: []quota.Holder{user("u"), group("g")}}, quota.HolderJobs{Queue: q, Holders: []quota.Holder{group("g")}})
	both, alone := accounts[0], accounts[1]
	quota.Charge(&n.Accounts, alone, res{gpu: 1}.vector()) // so that the group has 2 left
	own := fastres.NewVector(dims)
	n.ChangeInqueue(ix, q, both, own, res{gpu: 1}.vector(), 1)
	n.ChangeInqueue(ix, q, both, own, res{gpu: 4}.vector(), 1)
	assert.Equal(t, 2.0, ix.Inqueue.At(q, gpu), "of 5")
	assert.Equal(t, "OverHolder at q", verdict(ix, n.Refusal(quota.Enqueueable(&n.Accounts, alone, res{gpu: 1}.vector()))))
	for _, head := range n.Accounts.Heads(both) {
		assert.Equal(t, 5.0, n.Accounts.Inqueue.At(head, gpu), n.Place(head).String())
	}
	n.ChangeInqueue(ix, q, both, own, res{gpu: 4}.vector(), -1)
	assert.Equal(t, 1.0, ix.Inqueue.At(q, gpu))
	n.ChangeInqueue(ix, q, both, own, res{gpu: 1}.vector(), -1)
	assert.Equal(t, 0.0, ix.Inqueue.At(q, gpu))
	for _, head := range n.Accounts.Heads(both) {
		assert.Equal(t, 0.0, n.Accounts.Inqueue.At(head, gpu), n.Place(head).String())
	}
	assert.Equal(t, 0.0, own.Get(gpu))
}

func TestHolderText(t *testing.T) {
	for want, h := range map[string]quota.Holder{
		"namespace <a>":                     namespace("a"),
		"user <u>":                          user("u"),
		"jobs without a user":               user(""),
		"jobs without a group":              group(""),
		"label <team=alpha>":                {Key: "label:team", Value: "alpha"},
		"jobs without the label <x.y/team>": {Key: "label:x.y/team"},
	} {
		assert.Equal(t, want, h.String())
	}
}
