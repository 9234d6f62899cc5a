package serve

import (
	"fmt"
	"slices"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
)

// holdersPage is the content of the view Who has what.
type holdersPage struct {
	By     string   // the key of the holders, such as user
	Keys   []string // to choose from
	Queue  string   // the chosen one, "" for all
	Rows   []stock.Holder
	Pages  page.Pages
	Hidden *Hidden
	// Limited: a limit of a queue applies to a holder.
	Limited bool
}

// holdersView shows the cards by user, group, namespace, or value of a label that a queue limits. It counts only jobs
// that the viewer may see: the names of users are in the jobs.
func holdersView(q *request) (any, any, error) {
	p := &holdersPage{By: keyOfHolders(q), Keys: q.HolderKeys, Queue: q.query.Get("queue")}
	if !slices.Contains(p.Keys, p.By) {
		return nil, nil, fmt.Errorf("%w: no queue limits %q, so there is no list by it", errNotFound, p.By)
	}

	below := map[string]bool{}
	for _, each := range model.Subtree(q.Model.Queues, p.Queue) {
		below[each.Queue] = true
	}
	if p.Queue != "" && len(below) == 0 {
		return nil, nil, fmt.Errorf("%w: there is no queue %q", errNotFound, p.Queue)
	}

	all := stock.Holders(q.Held, p.By, func(job *stock.Held) bool {
		switch {
		case p.Queue != "" && !below[job.Queue]:
			return false
		case !q.seen.namespace(job.Namespace):
			p.Hidden = p.Hidden.with(job.Pods)
			return false
		}
		return true
	})

	p.Limited = slices.ContainsFunc(all, func(h stock.Holder) bool { return len(h.Limits) > 0 })
	p.Rows, p.Pages = rowsOfPage(q, all)
	return p, list{Head: document.Of("HolderList"), Items: all, Hidden: p.Hidden, Unread: q.Objects.Unread}, nil
}

// keyOfHolders returns the key of a query, else the first one.
func keyOfHolders(q *request) string {
	if by := q.query.Get("by"); by != "" {
		return by
	}
	return stock.FirstKey
}

func holdersCommand(q *request) []string {
	words := []string{"top"}
	if queue := q.query.Get("queue"); queue != "" {
		words = append(words, queue)
	}
	return append(words, "--by", keyOfHolders(q))
}
