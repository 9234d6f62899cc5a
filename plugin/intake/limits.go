package intake

import (
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

// limits holds the limits of all queues.
type limits struct {
	byQueue [][]keyLimits // in the order of keys; nil where no queue has a limit
	keys    [][]string    // by queue: the keys that it or an ancestor limits, in order
	rows    fastres.Rows  // of the limits
	used    int           // rows
}

// keyLimits are the limits of one key in a queue: rows, or −1 for none.
type keyLimits struct {
	key   string
	named map[string]int
	other int
}

// none reports whether no queue has a limit.
func (l *limits) none() bool { return l.byQueue == nil }

// row returns the row of the limit that a queue has for a holder, −1 for none.
func (l *limits) row(q index.Queue, holder quota.Holder) int {
	for i := range l.byQueue[q] {
		limits := &l.byQueue[q][i]
		if limits.key != holder.Key {
			continue
		}
		if row, named := limits.named[holder.Value]; named {
			return row
		}
		if holder.Value != "" {
			return limits.other
		}
	}
	return -1
}

// read reads the limits of the queues. It adds names without a dimension to r.missing.
func (l *limits) read(session *Inputs, r *reader) {
	l.byQueue = nil
	l.keys = nil
	l.used = 0
	if !session.HasPolicies() {
		return
	}

	queues := session.tree.Len()
	rows := 0
	for q := range index.Queue(queues) {
		rows += session.Policies(q).CountHolderLimits(session.cards != nil)
	}

	if rows == 0 {
		return
	}

	l.byQueue = make([][]keyLimits, queues)
	l.rows.Reset(rows, session.Dims.length)
	for q := range index.Queue(queues) {
		l.readQueue(session, r, q)
	}

	l.setKeys(session.tree)
}

// setKeys finds the keys that are limited in each queue: the keys of its ancestors, which precede it, and its own.
func (l *limits) setKeys(tree *index.Tree) {
	l.keys = make([][]string, len(l.byQueue))
	for q := range index.Queue(len(l.byQueue)) {
		if above := tree.Parent(q); above != index.None {
			l.keys[q] = l.keys[above]
		}
		for i := range l.byQueue[q] {
			if key := l.byQueue[q][i].key; !slices.Contains(l.keys[q], key) {
				l.keys[q] = append(slices.Clone(l.keys[q]), key)
				slices.SortFunc(l.keys[q], policy.CompareHolderKeys)
			}
		}
	}
}

// readQueue reads the limits of a queue. A limit that bounds nothing exempts the holder.
func (l *limits) readQueue(session *Inputs, r *reader, q index.Queue) {
	for _, holders := range session.Policies(q).Holders() {
		added := keyLimits{key: holders.Key, named: map[string]int{}, other: -1}
		for i := range holders.Limits {
			limit := &holders.Limits[i]
			row := -1
			if limit.Bounds(session.cards != nil) {
				row = l.add()
				session.setLimit(l.rows.Row(row), r, limit)
			}

			if limit.Other {
				added.other = row
			} else {
				added.named[limit.Value] = row
			}
		}

		l.byQueue[q] = append(l.byQueue[q], added)
	}
}

// setLimit writes a limit into a row. The limit bounds nothing that it does not name.
func (s *Inputs) setLimit(x fastres.Vector, r *reader, limit *policy.HolderLimit) {
	r.addList(x, limit.Resources)
	for d := range fastres.Dim(x.Len()) {
		if _, named := limit.Resources[v1.ResourceName(r.name(d))]; !named {
			x.Set(d, fastres.MaxQuantity)
		}
	}

	s.setCards(x, limit.Cards)
}

// add returns the next row.
func (l *limits) add() int {
	l.used++
	return l.used - 1
}

// setCards sets the cards of a limit, where cards count.
func (s *Inputs) setCards(x fastres.Vector, cards []card.Entry) {
	if s.cards == nil {
		return
	}
	for _, entry := range cards {
		if d := s.Dims.names.InternCard(entry.Name); int(d) < x.Len() {
			x.Set(d, float64(entry.Cards)*1000)
		}
	}
}

// name returns the name of a dimension, "" for a card and for a spare dimension.
func (r *reader) name(d fastres.Dim) string {
	if names := r.dims.names; int(d) < names.Len() && !names.IsCard(d) {
		return names.Name(d)
	}
	return ""
}

// appendHolders appends the holders of a job that some queue of its path limits, in the order of the keys.
func (l *limits) appendHolders(to []quota.Holder, path []index.Queue, job *api.JobInfo) []quota.Holder {
	for _, key := range l.keys[path[0]] {
		for _, value := range ValuesOf(job, key) {
			holder := quota.Holder{Key: key, Value: value}
			limited := slices.ContainsFunc(path, func(p index.Queue) bool { return l.row(p, holder) >= 0 })
			if limited && !slices.Contains(to, holder) {
				to = append(to, holder)
			}
		}
	}
	return to
}

// ValuesOf returns the values of a job for a key of policy.HolderLimits: its namespace, its user, the groups of its
// user, or the value of a label. The value "" stands for none.
func ValuesOf(job *api.JobInfo, key string) []string {
	label, isLabel := strings.CutPrefix(key, quota.HolderLabel)
	switch {
	case key == quota.HolderNamespace:
		return []string{job.Namespace}
	case isLabel:
		return []string{textOf(job, func(o *metav1.ObjectMeta) string { return o.Labels[label] })}
	case key == quota.HolderUser:
		return []string{textOf(job, func(o *metav1.ObjectMeta) string { return o.Annotations[policy.UserKey] })}
	}
	return groupsIn(textOf(job, func(o *metav1.ObjectMeta) string { return o.Annotations[policy.GroupsKey] }))
}

// mostGroups bounds the groups of a job, which any user can write.
const mostGroups = 1000

// groupsIn returns the groups of a list, or "" if it names none, or too many.
func groupsIn(list string) (groups []string) {
	for group := range strings.SplitSeq(list, ",") {
		group = strings.TrimSpace(group)
		if group != "" {
			groups = append(groups, group)
		}
	}

	if len(groups) == 0 || len(groups) > mostGroups {
		return []string{""}
	}
	return groups
}

// textOf returns a label or an annotation of the PodGroup of a job. If the PodGroup has none, it returns the first text
// of the pods, in alphabetical order.
func textOf(job *api.JobInfo, read func(*metav1.ObjectMeta) string) (first string) {
	if job.PodGroup != nil {
		if text := read(&job.PodGroup.ObjectMeta); text != "" {
			return text
		}
	}

	for _, task := range job.Tasks {
		if task.Pod == nil {
			continue
		}
		if text := read(&task.Pod.ObjectMeta); text != "" && (first == "" || text < first) {
			first = text
		}
	}
	return first
}
