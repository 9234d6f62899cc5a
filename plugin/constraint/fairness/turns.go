package fairness

import (
	"cmp"
	"sync"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// turns order queues of different parents.
//
// Volcano keeps the queues of an action in a heap, whose keys must not change but for the queue that it has taken. What a
// queue gets raises the level of its parent, and so the keys of all other queues below it. With many queues below one parent,
// the heap would serve them all before it sees that. So a queue has a start tag for each queue above it: the rank that this
// one has when it is the queue's turn. Until then, the siblings that go first get their pods:
//
//	X(P) = Σ over siblings s of n(s) × mean request of the pending pods of s
//	n(s) = how many of its pending pods s gets before its rank reaches that of the queue
//
// and no more of a card than is free. Nothing changes a tag but what its own queue gets.
type turns struct {
	mu    sync.Mutex // Volcano compares the queues of victims in many goroutines
	ready bool       // in this session
	tree  *index.Tree

	free        []float64     // by column: what no queue had when the tags were first asked for
	base, step  []float64     // by queue and column: what the queues had then, and what a pending pod requests on average
	pods        []float64     // by queue: pending pods
	child, next []index.Queue // by queue: its first child, and its next sibling
	tags        []rank        // by queue and height above it
	known       []bool        // by queue: its tags are known
	height      int
	extra       []float64 // by column: X of one queue

	served []served // by queue
	got    []bool   // by queue: it has got something in this session
	// passed: siblings behind the queue got something, and it got nothing. So its pods do not fit, and are not expected to get
	// anything before siblings do. It lasts until the queue gets something.
	passed []bool
}

// served is the highest rank of the children of a queue that got something in the session.
type served struct {
	some bool
	rank rank
}

// begin begins a session, after the ranks of the one before are final.
func (t *turns) begin(tree *index.Tree, ranks []rank) {
	if t.tree != tree {
		t.tree, t.ready = tree, false
		clear(t.passed)
		return
	}
	for q := range t.got {
		if t.ready {
			t.passed[q] = t.isPassed(index.Queue(q), ranks[q]) || t.passed[q] && !t.got[q]
		}
	}
	t.ready = false
}

func (t *turns) isPassed(q index.Queue, now rank) bool {
	p := t.tree.Parent(q)
	return p != index.None && t.served[p].some && now.compare(t.served[p].rank) < 0
}

// compare compares the queues l and r by the tags for lc and rc, which are above them, or the queues themselves, and
// which have one parent.
func (t *turns) compare(o *Order, l, r, lc, rc index.Queue) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ready {
		t.read(o)
	}
	return cmp.Or(t.tag(o, l, lc).compare(t.tag(o, r, rc)), o.tie(lc, rc))
}

// changed notes that a queue has got something, or lost it again.
func (t *turns) changed(o *Order, q index.Queue, got bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ready {
		return
	}
	path := t.tree.Path(q)
	for height, above := range path {
		if t.got[above] = t.got[above] || got; !got || !t.known[q] || height+1 == len(path) {
			continue
		}
		if of, tag := &t.served[path[height+1]], t.tags[int(q)*t.height+height]; !of.some || tag.compare(of.rank) > 0 {
			*of = served{true, tag}
		}
	}
	t.known[q] = false
}

// tag returns the tag of q for a queue above it.
func (t *turns) tag(o *Order, q, above index.Queue) rank {
	if !t.known[q] {
		t.setTags(o, q)
	}
	return t.tags[int(q)*t.height+t.tree.Depth(q)-t.tree.Depth(above)]
}

func (t *turns) setTags(o *Order, q index.Queue) {
	m, tags := o.memory, t.tags[int(q)*t.height:]
	for c := range m.dims {
		t.extra[c] = t.gained(o, q, c)
	}
	path := t.tree.Path(q)
	tags[0] = m.ranks[q]
	for height, p := range path[1:] {
		for s := t.child[p]; s != index.None; s = t.next[s] {
			if s != path[height] {
				t.addAhead(o, s, path[height], q, tags[height])
			}
		}
		for c, free := range t.free {
			t.extra[c] = min(t.extra[c], max(free, t.gained(o, p, c)))
		}
		tags[height+1] = t.rankWith(o, p, t.extra, 1)
	}
	t.known[q] = true
}

// gained is what a queue has got in the session.
func (t *turns) gained(o *Order, q index.Queue, c int) float64 {
	return o.session.Index.Allocated(q).Get(o.memory.dims[c]) - t.base[int(q)*len(t.free)+c]
}

// addAhead adds to X what a sibling s of c gets before it is the turn of q, which is c or below it, at a rank of c.
func (t *turns) addAhead(o *Order, s, c, q index.Queue, at rank) {
	n := 0.0
	if !t.passed[s] && !t.isPassed(s, o.memory.ranks[s]) {
		n = t.ahead(o, s, c, q, at)
	}
	for column := range t.free {
		t.extra[column] += max(n*t.step[int(s)*len(t.free)+column], t.gained(o, s, column))
	}
}

// ahead is n(s): a bisection, since the rank of s never falls while it gets pods.
func (t *turns) ahead(o *Order, s, c, q index.Queue, at rank) float64 {
	if t.tree.IsLeaf(s) {
		if sp, qp := o.priority(s), o.priority(q); sp > qp {
			return t.pods[s]
		} else if sp < qp {
			return 0
		}
	}
	from, to := 0.0, 1.0 // the first from pods go before q
	for to <= t.pods[s] && t.goesBefore(o, s, c, to-1, at) {
		from, to = to, 2*to
	}
	to = min(to, t.pods[s]+1) - 1
	for from < to {
		mid := float64(int(from+to+1) / 2)
		if t.goesBefore(o, s, c, mid-1, at) {
			from = mid
		} else {
			to = mid - 1
		}
	}
	return from
}

// goesBefore reports whether s gets one more pod after so many ones, before c has its turn at a rank.
func (t *turns) goesBefore(o *Order, s, c index.Queue, after float64, at rank) bool {
	step := t.step[int(s)*len(t.free):]
	return cmp.Or(t.rankWith(o, s, step[:len(t.free)], after).compare(at), o.tie(s, c)) < 0
}

// rankWith returns the rank of a queue that has got a number of times some amounts more than at first.
func (t *turns) rankWith(o *Order, q index.Queue, amounts []float64, times float64) rank {
	m, wants := o.memory, o.memory.wantsOf(q)
	r := rank{gamma: m.ranks[q].gamma, within: len(wants) > 0}
	for _, c := range wants {
		d := m.dims[c]
		allocated := t.base[int(q)*len(t.free)+int(c)] + times*amounts[c]
		r.within = r.within && allocated < o.session.Index.Deserved.At(q, d)
		level, beyond := m.history.LevelAt(q, r.gamma, int(c), o.heldOf(q, d, allocated))
		r.level, r.beyond = max(r.level, level), max(r.beyond, beyond)
	}
	return r
}

// read reads what queues have and request.
func (t *turns) read(o *Order) {
	ix, columns := o.session.Index, len(o.memory.dims)
	n := ix.Len()
	t.ready, t.height = true, 1
	t.base, t.step, t.free, t.extra = zeros(t.base, n*columns), zeros(t.step, n*columns), zeros(t.free, columns), zeros(t.extra, columns)
	t.pods, t.known, t.got, t.served = zeros(t.pods, n), zeros(t.known, n), zeros(t.got, n), zeros(t.served, n)
	t.child, t.next = zeros(t.child, n), zeros(t.next, n)
	if len(t.passed) != n {
		t.passed = zeros(t.passed, n)
	}
	for q := range t.child {
		t.child[q] = index.None
	}
	for q := index.Queue(n) - 1; q >= 0; q-- {
		t.height = max(t.height, ix.Depth(q)+1)
		t.next[q] = index.None
		if p := ix.Parent(q); p != index.None {
			t.next[q], t.child[p] = t.child[p], q
		}
	}
	t.tags = zeros(t.tags, n*t.height)
	root := ix.Allocated(ix.Root())
	for c, d := range o.memory.dims {
		t.free[c] = o.session.Intake.Total.Get(d) - root.Get(d)
		for q := range index.Queue(n) {
			t.base[int(q)*columns+c] = ix.Allocated(q).Get(d)
			t.step[int(q)*columns+c] = max(0, ix.Request.At(q, d)-ix.Allocated(q).Get(d))
		}
	}
	t.readPods(o)
}

// readPods counts pending pods, and divides what they request.
func (t *turns) readPods(o *Order) {
	s, columns := o.session, len(t.free)
	for _, job := range s.Volcano.Jobs {
		q := s.Index.Lookup(string(job.Queue))
		if q == index.None || s.Index.Broken(q) != nil {
			continue
		}
		pending := float64(len(job.TaskStatusIndex[api.Pending]))
		for _, above := range s.Index.Path(q) {
			t.pods[above] += pending
		}
		if pending > 0 && len(s.Intake.Lists) > 0 {
			t.addLists(o, q, job, pending)
		}
	}
	for q := range t.pods {
		for c, free := range t.free {
			if step := &t.step[q*columns+c]; free <= 0 || t.pods[q] == 0 {
				*step = 0
			} else {
				*step /= t.pods[q]
			}
		}
	}
}

// addLists adds what the pods of a job request by lists: of each list, the first card of which some is free. The pods of a job
// count as alike.
func (t *turns) addLists(o *Order, q index.Queue, job *api.JobInfo, pods float64) {
	s := o.session
	frame := s.Frames.Open()
	defer frame.Close()
	var one constraint.Ask
	for _, task := range job.TaskStatusIndex[api.Pending] {
		one = s.Ask(q, task, frame.Vector())
		break
	}
	if one.Pod.None() {
		return
	}
	for r := range s.Cards.Requests(one.Pod) {
		if len(r.Selector.Dims) < 2 {
			continue
		}
		if c, d := t.firstFree(o, r.Selector.Dims); c >= 0 {
			for _, above := range s.Index.Path(q) {
				t.step[int(above)*len(t.free)+c] += pods * float64(r.Of(d))
			}
		}
	}
}

// firstFree returns the first column that counts of a list, and of which some is free, -1 for none.
func (t *turns) firstFree(o *Order, list []fastres.Dim) (column int, of fastres.Dim) {
	for _, d := range list {
		if c, counts := o.memory.columnOf(d); counts && t.free[c] > 0 {
			return c, d
		}
	}
	return -1, 0
}

func zeros[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// compare compares two ranks.
func (r rank) compare(other rank) int {
	if r.within != other.within {
		if r.within {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(r.level, other.level), cmp.Compare(r.beyond, other.beyond))
}

// tie orders siblings of one rank, as the plugin and Volcano do.
func (o *Order) tie(l, r index.Queue) int {
	ix := o.session.Index
	if c := quota.OrderByShare(ix, l, r); c != 0 {
		return c
	}
	if le, re := ix.Deserved.Row(l).IsEmpty(), ix.Deserved.Row(r).IsEmpty(); le != re {
		if re {
			return -1
		}
		return 1
	}
	lq, rq := o.session.Intake.Queues[l], o.session.Intake.Queues[r]
	if lq == nil || rq == nil {
		return cmp.Compare(l, r)
	}
	return cmp.Or(lq.Queue.CreationTimestamp.Compare(rq.Queue.CreationTimestamp.Time), cmp.Compare(lq.UID, rq.UID))
}

func (o *Order) priority(q index.Queue) int32 {
	if queue := o.session.Intake.Queues[q]; queue != nil {
		return queue.Queue.Spec.Priority
	}
	return 0
}
