package fairness

import (
	"cmp"
	"sort"
	"sync"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
)

// startTags order queues of different parents.
//
// Volcano keeps the queues of an action in a heap. The key of a queue may change only while the action has taken the
// queue out. But a placement raises the level of the parent, and so the keys of all other queues below the parent.
// With many queues below one parent, the heap would serve them all before it sees the change. So a queue has a start
// tag for each queue P above it: the rank of P when it is the queue's turn. Before that turn, the children of P have
// had earlier turns:
//
//	X(P) = Σ over children s of n(s) × the mean request of the queues of s for a turn
//	n(s) = the number of turns of s before its rank reaches the rank of the queue
//
// and no more of a card than was free. In a turn Volcano places a gang, or a pod of a job that has its minimum, and
// then takes the next queue. The tags use the accounts of the first question, except for the rank of the queue itself.
// So a tag depends only on the placements of its own queue, and queues of one parent have tags in the order of their
// ranks.
type startTags struct {
	mu    sync.Mutex // Volcano compares the queues of victims in many goroutines
	ready bool       // in this session
	tree  *index.Tree

	free        []float64     // by column: free at the first question
	base, step  []float64     // by queue and column: allocated at the first question, and the mean request of a turn
	turns       []float64     // by queue: of pending pods
	share       []float64     // by queue
	child, next []index.Queue // by queue: its first child, and its next sibling
	lines       [][]line      // by queue: the lines of its children; made by the first comparison that needs them
	tags        []rank        // by queue and height above it
	known       []bool        // by queue: its tags are known
	height      int
	extra       []float64 // by column: X of one queue

	served []served // by queue
	got    []int    // by queue: how many pods it has got in this session
	turn   turn     // the last one
	before []served // by height: served before the turn
	// passed: siblings behind the queue got something, and it got nothing. So its pods do not fit, and are not expected
	// to get anything before siblings do. It lasts until the queue gets something.
	passed []bool
}

// turn is a turn of a queue, after the queue had got some pods.
type turn struct {
	of  index.Queue
	got int
}

// served is the highest rank of the children of a queue that got something in the session.
type served struct {
	some bool
	rank rank
}

// begin begins a session, after the ranks of the one before are final.
func (t *startTags) begin(tree *index.Tree, ranks []rank) {
	if t.tree != tree {
		t.tree, t.ready = tree, false
		clear(t.passed)
		return
	}

	for q := range t.got {
		if t.ready {
			t.passed[q] = t.isPassed(index.Queue(q), ranks[q]) || t.passed[q] && t.got[q] <= 0
		}
	}
	t.ready = false
}

func (t *startTags) isPassed(q index.Queue, now rank) bool {
	p := t.tree.Parent(q)
	return p != index.None && t.served[p].some && now.compare(t.served[p].rank) < 0
}

// compare compares the queues l and r by the tags for lc and rc, which are above them, or the queues themselves, and
// which have one parent.
func (t *startTags) compare(o *order, l, r, lc, rc index.Queue) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ready {
		t.read(o)
	}
	return cmp.Or(t.tag(o, l, lc).compare(t.tag(o, r, rc)), t.tie(o, lc, rc))
}

// changed notes that a queue has got a pod, or lost it again. A gang that finds no place gives back all that it got:
// then its queue has had no turn.
func (t *startTags) changed(q index.Queue, got bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ready {
		return
	}

	path := t.tree.Path(q)
	if got && t.known[q] {
		t.turn = turn{q, t.got[q]}
		for height, p := range path[1:] {
			t.before[height] = t.served[p]
			if tag := t.tags[int(q)*t.height+height]; !t.served[p].some || tag.compare(t.served[p].rank) > 0 {
				t.served[p] = served{true, tag}
			}
		}
	}

	t.known[q] = false
	for _, above := range path {
		if got {
			t.got[above]++
		} else {
			t.got[above]--
		}
	}

	if !got && t.turn == (turn{q, t.got[q]}) {
		for height, p := range path[1:] {
			t.served[p] = t.before[height]
		}
		t.turn.of = index.None
	}
}

// tag returns the tag of q for a queue above it.
func (t *startTags) tag(o *order, q, above index.Queue) rank {
	if !t.known[q] {
		t.setTags(o, q)
	}
	return t.tags[int(q)*t.height+t.tree.Depth(q)-t.tree.Depth(above)]
}

func (t *startTags) setTags(o *order, q index.Queue) {
	tags, path := t.tags[int(q)*t.height:], t.tree.Path(q)
	tags[0] = o.memory.ranks[q]

	for height, p := range path[1:] {
		clear(t.extra)
		if t.lines[p] == nil {
			t.lines[p] = t.makeLines(o, p)
		}

		for i := range t.lines[p] {
			l := &t.lines[p][i]
			if n := t.ahead(o, l, path[height], q, tags[height]); n > 0 {
				for c := range t.extra {
					t.extra[c] += l.sums[(n-1)*len(t.free)+c]
				}
			}
		}

		for c, free := range t.free {
			t.extra[c] = min(t.extra[c], max(0, free))
		}
		tags[height+1] = t.rankWith(o, p, t.extra, 1)
	}
	t.known[q] = true
}

// ahead is the number of turns of a line that come before the turn of q at a rank of c. q is c, or below it.
func (t *startTags) ahead(o *order, l *line, c, q index.Queue, at rank) int {
	switch priority := o.priority(q); {
	case !l.inner && l.priority > priority:
		return len(l.turns)
	case !l.inner && l.priority < priority:
		return 0
	}

	return sort.Search(len(l.turns), func(i int) bool {
		order := l.turns[i].rank.compare(at)
		if order == 0 && l.turns[i].of != c {
			order = t.tie(o, l.turns[i].of, c)
		}
		return order >= 0
	})
}

// rankWith returns the rank of a queue that has got a number of times some amounts more than at first.
func (t *startTags) rankWith(o *order, q index.Queue, amounts []float64, times float64) rank {
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
func (t *startTags) read(o *order) {
	ix, columns := o.session.Index, len(o.memory.dims)
	n := ix.Len()

	t.ready, t.height = true, 1
	t.base = zeros(t.base, n*columns)
	t.step = zeros(t.step, n*columns)
	t.free = zeros(t.free, columns)
	t.extra = zeros(t.extra, columns)
	t.turns = zeros(t.turns, n)
	t.known = zeros(t.known, n)
	t.got = zeros(t.got, n)
	t.served = zeros(t.served, n)
	t.share, t.lines = zeros(t.share, n), zeros(t.lines, n)

	for q := range t.share {
		t.share[q] = ix.Share(index.Queue(q))
	}

	t.child = zeros(t.child, n)
	t.next = zeros(t.next, n)
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
	t.before = zeros(t.before, t.height)
	t.turn.of = index.None

	root := ix.Allocated(ix.Root())
	for c, d := range o.memory.dims {
		t.free[c] = o.session.Intake.Total.Get(d) - root.Get(d)
		for q := range index.Queue(n) {
			t.base[int(q)*columns+c] = ix.AllocatedAt(q, d)
			t.step[int(q)*columns+c] = max(0, ix.Request.At(q, d)-ix.AllocatedAt(q, d))
		}
	}

	t.readTurns(o)
}

// readTurns counts turns, and divides what pending pods request.
func (t *startTags) readTurns(o *order) {
	s, columns := o.session, len(t.free)
	for _, job := range s.Volcano.Jobs {
		q := s.Index.Lookup(string(job.Queue))
		if q == index.None || s.Index.Broken(q) != nil {
			continue
		}

		pending := float64(len(job.TaskStatusIndex[api.Pending]))
		gang := float64(job.MinAvailable - job.ReadyTaskNum() - job.WaitingTaskNum())
		for _, above := range s.Index.Path(q) {
			t.turns[above] += pending - min(pending, max(1, gang)) + min(1, pending)
		}
		if pending > 0 && len(s.Intake.Lists) > 0 {
			t.addLists(o, q, job, pending)
		}
	}

	for q := range t.turns {
		for c, free := range t.free {
			if step := &t.step[q*columns+c]; free <= 0 || t.turns[q] == 0 {
				*step = 0
			} else {
				*step /= t.turns[q]
			}
		}
	}
}

// addLists adds the cards that the pods of a job request by lists: the first card of each list that is free. The pods
// of a job count as alike.
func (t *startTags) addLists(o *order, q index.Queue, job *api.JobInfo, pods float64) {
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

// firstFree returns the first card of a list that counts and is partly free, and its column, -1 for none.
func (t *startTags) firstFree(o *order, list []fastres.Dim) (column int, card fastres.Dim) {
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

// tie orders siblings of one rank. It returns 0 for queues without columns that count: their shares decide. Others go
// before these, by the shares that they had at first: with shares that change in the session, tags would.
func (t *startTags) tie(o *order, l, r index.Queue) int {
	lw, rw := len(o.memory.wantsOf(l)) > 0, len(o.memory.wantsOf(r)) > 0
	switch {
	case !lw && !rw:
		return 0
	case lw != rw && lw:
		return -1
	case lw != rw:
		return 1
	}

	c := cmp.Compare(t.share[l], t.share[r])
	lq, rq := o.session.Intake.Queues[l], o.session.Intake.Queues[r]
	if c != 0 || lq == nil || rq == nil {
		return cmp.Or(c, cmp.Compare(l, r))
	}
	return cmp.Or(lq.Queue.CreationTimestamp.Compare(rq.Queue.CreationTimestamp.Time), cmp.Compare(lq.UID, rq.UID))
}

func (o *order) priority(q index.Queue) int32 {
	if queue := o.session.Intake.Queues[q]; queue != nil {
		return queue.Queue.Spec.Priority
	}
	return 0
}
