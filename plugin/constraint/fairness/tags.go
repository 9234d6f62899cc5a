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
	phase phase
	tree  *index.Tree

	free       []float64    // by column: free at the first question
	base, step []float64    // by queue and column: allocated at the first question, and the mean request of a turn
	queues     []startQueue // by queue
	tags       []rank       // by queue and height above it
	height     int
	extra      []float64 // by column: X of one queue

	turn   turn     // the last one
	before []served // by height: served before the turn
}

// phase says how much of the queues has been read in a session.
type phase uint8

const (
	unread phase = iota // nothing: no queues have been compared
	read                // allocated and requested amounts, at the first question
)

// startQueue is a queue with start tags.
type startQueue struct {
	tagged      bool        // its tags are known. They are not after it gets or loses a pod
	turns       float64     // of pending pods
	share       float64     // at the first question
	child, next index.Queue // its first child, and its next sibling
	lines       []line      // of its children; made by the first comparison that needs them
	served      served
	got         int // how many pods it has got in this session
	// passed: siblings behind the queue got something, and it got nothing. So its pods do not fit, and are not expected
	// to get anything before siblings do. It lasts until the queue gets something.
	passed bool
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

// begin begins a session, after the ranks of the one before are final: unread.
func (t *startTags) begin(tree *index.Tree, ranks []rank) {
	switch {
	case t.tree != tree:
		t.tree = tree
		clear(t.queues)
	case t.phase == read:
		for q := range t.queues {
			own := &t.queues[q]
			own.passed = t.isPassed(index.Queue(q), ranks[q]) || own.passed && own.got <= 0
		}
	}
	t.phase = unread
}

func (t *startTags) isPassed(q index.Queue, now rank) bool {
	p := t.tree.Parent(q)
	return p != index.None && t.queues[p].served.some && now.compare(t.queues[p].served.rank) < 0
}

// compare compares the queues l and r by the tags for lc and rc, which are above them, or the queues themselves, and
// which have one parent.
func (t *startTags) compare(o *order, l, r, lc, rc index.Queue) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.phase == unread {
		t.read(o)
	}
	return cmp.Or(t.tag(o, l, lc).compare(t.tag(o, r, rc)), t.tie(o, lc, rc))
}

// gets notes that a queue has got a pod. With the first pod after its tags were computed, its turn begins.
func (t *startTags) gets(q index.Queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.phase == unread {
		return
	}

	own := &t.queues[q]
	path := t.tree.Path(q)
	if own.tagged {
		t.turn = turn{q, own.got}
		for height, p := range path[1:] {
			above := &t.queues[p].served
			t.before[height] = *above
			if tag := t.tags[int(q)*t.height+height]; !above.some || tag.compare(above.rank) > 0 {
				*above = served{true, tag}
			}
		}
	}

	own.tagged = false
	for _, p := range path {
		t.queues[p].got++
	}
}

// loses notes that a queue has lost a pod. A gang that finds no place gives back all that it got: then its queue has
// had no turn.
func (t *startTags) loses(q index.Queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.phase == unread {
		return
	}

	path := t.tree.Path(q)
	t.queues[q].tagged = false
	for _, p := range path {
		t.queues[p].got--
	}

	if t.turn == (turn{q, t.queues[q].got}) {
		for height, p := range path[1:] {
			t.queues[p].served = t.before[height]
		}
		t.turn.of = index.None
	}
}

// tag returns the tag of q for a queue above it.
func (t *startTags) tag(o *order, q, above index.Queue) rank {
	if !t.queues[q].tagged {
		t.setTags(o, q)
	}
	return t.tags[int(q)*t.height+t.tree.Depth(q)-t.tree.Depth(above)]
}

// setTags computes the tags of a queue: tagged.
func (t *startTags) setTags(o *order, q index.Queue) {
	tags := t.tags[int(q)*t.height:]
	path := t.tree.Path(q)
	tags[0] = o.memory.ranks[q]

	for height, p := range path[1:] {
		clear(t.extra)
		above := &t.queues[p]
		if above.lines == nil {
			above.lines = t.makeLines(o, p)
		}

		for i := range above.lines {
			l := &above.lines[i]
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
	t.queues[q].tagged = true
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

// read reads what queues have and request: read.
func (t *startTags) read(o *order) {
	ix := o.session.Index
	columns := len(o.memory.dims)
	n := ix.Len()

	t.phase = read
	t.base = zeros(t.base, n*columns)
	t.step = zeros(t.step, n*columns)
	t.free = zeros(t.free, columns)
	t.extra = zeros(t.extra, columns)
	t.readQueues(ix)

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

// readQueues begins with queues that have got nothing. Which of them were passed is known from the session before.
func (t *startTags) readQueues(ix *index.Index) {
	n := ix.Len()
	if len(t.queues) != n {
		t.queues = zeros(t.queues, n)
	}

	for q := range t.queues {
		t.queues[q] = startQueue{
			passed: t.queues[q].passed,
			share:  ix.Share(index.Queue(q)),
			child:  index.None,
			next:   index.None,
		}
	}

	t.height = 1
	for q := index.Queue(n) - 1; q >= 0; q-- {
		t.height = max(t.height, ix.Depth(q)+1)
		if p := ix.Parent(q); p != index.None {
			t.queues[q].next = t.queues[p].child
			t.queues[p].child = q
		}
	}
}

// readTurns counts turns, and divides what pending pods request.
func (t *startTags) readTurns(o *order) {
	s := o.session
	columns := len(t.free)
	for _, job := range s.Volcano.Jobs {
		q := s.Index.Lookup(string(job.Queue))
		if q == index.None || s.Index.Broken(q) != nil {
			continue
		}

		pending := float64(len(job.TaskStatusIndex[api.Pending]))
		gang := float64(constraint.Missing(job))
		for _, above := range s.Index.Path(q) {
			t.queues[above].turns += pending - min(pending, max(1, gang)) + min(1, pending)
		}
		if pending > 0 && len(s.Intake.Lists) > 0 {
			t.addLists(o, q, job, pending)
		}
	}

	for q := range t.queues {
		turns := t.queues[q].turns
		for c, free := range t.free {
			step := &t.step[q*columns+c]
			if free <= 0 || turns == 0 {
				*step = 0
			} else {
				*step /= turns
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

	c := cmp.Compare(t.queues[l].share, t.queues[r].share)
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
