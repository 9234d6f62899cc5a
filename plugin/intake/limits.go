package intake

import (
	"iter"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/quota"
)

// limits are those of all queues.
type limits struct {
	of   [][]keyLimits // by queue, in the order of keys; nil where no queue has a limit
	keys [][]string    // by queue: those that it or an ancestor limits, in order
	rows fastres.Rows  // of the limits
	used int           // rows
}

// keyLimits are the limits of one key in a queue: rows, or −1 for none.
type keyLimits struct {
	key   string
	named map[string]int
	other int
}

// none reports whether no queue has a limit.
func (l *limits) none() bool { return l.of == nil }

// row returns the row of the limit that a queue has for a holder, −1 for none.
func (l *limits) row(q index.Queue, holder quota.Holder) int {
	for i := range l.of[q] {
		of := &l.of[q][i]
		if of.key != holder.Key {
			continue
		}
		if row, named := of.named[holder.Value]; named {
			return row
		}
		if holder.Value != "" {
			return of.other
		}
	}
	return -1
}

// read reads the limits of the queues. Names without a dimension are added to those that
// r misses.
func (l *limits) read(session *Session, r *reader) {
	l.of = nil
	l.keys = nil
	l.used = 0
	if !session.HasPolicies() {
		return
	}
	n, rows := session.tree.Len(), 0
	for q := range index.Queue(n) {
		rows += session.Policies(q).CountHolderLimits(session.cards != nil)
	}
	if rows == 0 {
		return
	}
	l.of, l.keys = make([][]keyLimits, n), make([][]string, n)
	l.rows.Reset(rows, session.Dims.length)
	for q := range index.Queue(n) {
		l.readQueue(session, r, q)
	}
	for q := range index.Queue(len(l.of)) {
		if above := session.tree.Parent(q); above != index.None {
			l.keys[q] = l.keys[above]
		}
		for i := range l.of[q] {
			if key := l.of[q][i].key; !slices.Contains(l.keys[q], key) {
				l.keys[q] = append(slices.Clone(l.keys[q]), key)
				slices.SortFunc(l.keys[q], policy.CompareHolderKeys)
			}
		}
	}
}

func (l *limits) readQueue(session *Session, r *reader, q index.Queue) {
	values := session.Policies(q)
	cards, resources := values[policy.NamespaceCards], values[policy.NamespaceCapability]
	if cards.Set || resources.Set {
		row := l.add()
		x := l.rows.Row(row)
		r.addList(x, resources.Resources)
		for d := range fastres.Dim(x.Len()) {
			if _, named := resources.Resources[v1.ResourceName(r.name(d))]; !named {
				x.Set(d, fastres.MaxQuantity)
			}
		}
		session.setCards(x, cards.Cards)
		l.of[q] = append(l.of[q], keyLimits{key: quota.HolderNamespace, other: row})
	}
	if session.cards == nil {
		return
	}
	for _, of := range values[policy.HolderCards].Holders {
		added := keyLimits{of.Key, map[string]int{}, -1}
		for _, limit := range of.Limits {
			row := -1
			if len(limit.Cards) > 0 {
				row = l.add()
				l.rows.Row(row).Fill(fastres.MaxQuantity)
				session.setCards(l.rows.Row(row), limit.Cards)
			}
			if limit.Other {
				added.other = row
			} else {
				added.named[limit.Value] = row
			}
		}
		l.of[q] = append(l.of[q], added)
	}
}

// add returns the next row.
func (l *limits) add() int {
	l.used++
	return l.used - 1
}

// setCards sets the cards of a limit, where cards count.
func (s *Session) setCards(x fastres.Vector, cards []card.Entry) {
	if s.cards == nil {
		return
	}
	for _, entry := range cards {
		if d := s.Dims.names.InternCard(entry.Name); int(d) < x.Len() {
			x.Set(d, float64(entry.Cards)*1000)
		}
	}
}

// name returns the name of a dimension, "" for one to spare.
func (r *reader) name(d fastres.Dim) string {
	if names := r.dims.names; int(d) < names.Len() && !names.IsCard(d) {
		return names.Name(d)
	}
	return ""
}

// appendHolders appends the holders of a job that some queue of its path limits, in the order of the keys.
func (l *limits) appendHolders(to []quota.Holder, path []index.Queue, job *api.JobInfo) []quota.Holder {
	for _, key := range l.keys[path[0]] {
		for value := range valuesOf(job, key) {
			holder := quota.Holder{Key: key, Value: value}
			limited := slices.ContainsFunc(path, func(p index.Queue) bool { return l.row(p, holder) >= 0 })
			if limited && !slices.Contains(to, holder) {
				to = append(to, holder)
			}
		}
	}
	return to
}

// valuesOf iterates over the values that a job has for a key: its namespace, the groups of its user, or the
// one value of a label or an annotation. The value "" stands for none.
func valuesOf(job *api.JobInfo, key string) iter.Seq[string] {
	return func(yield func(string) bool) {
		label, isLabel := strings.CutPrefix(key, quota.HolderLabel)
		switch {
		case key == quota.HolderNamespace:
			yield(job.Namespace)
		case isLabel:
			yield(textOf(job, func(o *metav1.ObjectMeta) string { return o.Labels[label] }))
		case key == quota.HolderUser:
			yield(textOf(job, func(o *metav1.ObjectMeta) string { return o.Annotations[policy.UserKey] }))
		default:
			some := false
			text := textOf(job, func(o *metav1.ObjectMeta) string { return o.Annotations[policy.GroupsKey] })
			for group := range strings.SplitSeq(text, ",") {
				group = strings.TrimSpace(group)
				if group != "" {
					some = true
					if !yield(group) {
						return
					}
				}
			}
			if !some {
				yield("")
			}
		}
	}
}

// textOf returns a label or an annotation of a job: that of its PodGroup, or where it has none the first in
// alphabetical order of its pods.
func textOf(job *api.JobInfo, of func(*metav1.ObjectMeta) string) (first string) {
	if job.PodGroup != nil {
		if text := of(&job.PodGroup.ObjectMeta); text != "" {
			return text
		}
	}
	for _, task := range job.Tasks {
		if task.Pod == nil {
			continue
		}
		if text := of(&task.Pod.ObjectMeta); text != "" && (first == "" || text < first) {
			first = text
		}
	}
	return first
}
