package measure

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Book adds up a replay while it runs. Times must not go back.
type Book struct {
	cards      map[string]float64 // of the cluster
	queueCards map[[2]string]*QueueCard
	jobs       []Started
	locks      lockouts
	last       time.Duration // of the last submission

	// The cost of evictions.
	Evicted       int     // pods
	Restarted     int     // jobs that lost their minimum and began again
	LostPodHours  float64 // the time that the lost pods had run
	LostCardHours float64
	Reclaimed     int64 // cards of the evicted pods, without pods that only lost their gang
}

// NewBook returns a book for a cluster with cards.
func NewBook(cards map[string]float64) *Book {
	return &Book{
		cards:      cards,
		queueCards: map[[2]string]*QueueCard{},
		locks:      lockouts{map[string]time.Duration{}, map[string]LockOut{}},
	}
}

// queueCard returns a card of a queue, with its integrals up to now.
func (b *Book) queueCard(now time.Duration, queue, card string) *QueueCard {
	key := [2]string{queue, card}
	c := b.queueCards[key]
	if c == nil {
		c = &QueueCard{Queue: queue, Card: card, since: now}
		b.queueCards[key] = c
	}

	c.pass(now)
	return c
}

// Allocate changes the allocated cards of a queue.
func (b *Book) Allocate(now time.Duration, queue, card string, cards float64) {
	c := b.queueCard(now, queue, card)
	c.allocated += cards
	c.Allocated = c.Allocated.set(now, c.allocated)
}

// Submit adds the requests of a job that is submitted.
func (b *Book) Submit(now time.Duration, queue, card string, cards float64) {
	b.last = now
	b.Want(now, queue, card, cards)
}

// Want changes the cards that the waiting pods of a queue request.
func (b *Book) Want(now time.Duration, queue, card string, cards float64) {
	b.queueCard(now, queue, card).wanted += cards
}

// Deserve sets the deserved cards of a queue, which are bounded by the cards of the cluster.
func (b *Book) Deserve(now time.Duration, queue, card string, cards float64) {
	c := b.queueCard(now, queue, card)
	c.deserved = min(cards, b.cards[card])
	c.Deserved = c.Deserved.set(now, c.deserved)
}

// Room returns the deserved cards of a queue that are not allocated to it.
func (b *Book) Room(queue, card string) float64 {
	if c := b.queueCards[[2]string{queue, card}]; c != nil {
		return c.deserved - c.allocated
	}
	return 0
}

// Lock sets whether a queue is locked out from now on: a waiting job would fit into its deserved.
func (b *Book) Lock(now time.Duration, queue string, locked bool) { b.locks.set(now, queue, locked) }

// Job adds a job that was submitted.
func (b *Book) Job(j Started) { b.jobs = append(b.jobs, j) }

// Evict adds a pod that was evicted for another job, after it had run for a time.
func (b *Book) Evict(cards int64, ran time.Duration) {
	b.Evicted++
	b.Reclaimed += cards
	b.Break(cards, ran)
}

// Break adds a pod that begins again, because it was evicted or its job has lost its minimum.
func (b *Book) Break(cards int64, ran time.Duration) {
	b.LostPodHours += ran.Hours()
	b.LostCardHours += ran.Hours() * float64(cards)
}

// OfCard is the use of a card in the cluster.
type OfCard struct {
	Card        string
	Cards       float64
	Utilisation float64 // the part of the time of all cards in which a queue had them
}

// OfQueue has the results of a queue, over all cards.
type OfQueue struct {
	Queue     string
	CardHours float64
	// Satisfied is the part that the queue had of the cards that it deserved and wanted, 0 to 1. It is NaN if there
	// were no such cards.
	Satisfied float64
	LockOut   LockOut
}

// Totals are the results of a replay.
type Totals struct {
	Cards                    []OfCard
	Utilisation              float64
	Queues                   []OfQueue
	Jain                     float64      // of Satisfied
	JainOfUse                float64      // of allocated by deserved, until the last submission
	LockOut                  LockOut      // the longest
	QueueCards               []*QueueCard // by card and queue
	ByQueue, ByUser, ByCards []Waits
	All                      Waits
}

// Close adds up the events until now.
func (b *Book) Close(now time.Duration) *Totals {
	queueCards := slices.SortedFunc(maps.Values(b.queueCards), func(x, y *QueueCard) int {
		return cmp.Or(cmp.Compare(x.Card, y.Card), cmp.Compare(x.Queue, y.Queue))
	})
	t := &Totals{QueueCards: queueCards}
	for _, c := range t.QueueCards {
		c.pass(now)
	}

	b.addCards(t, now)
	b.addQueues(t, b.locks.end(now))

	t.ByQueue = Group(b.jobs, func(j Started) string { return j.Queue })
	t.ByUser = Group(b.jobs, func(j Started) string { return j.Namespace })
	t.ByCards = BySize(b.jobs)
	if all := Group(b.jobs, func(Started) string { return "all" }); len(all) > 0 {
		t.All = all[0]
	}
	return t
}

func (b *Book) addCards(t *Totals, now time.Duration) {
	used, all := 0.0, 0.0
	for _, card := range slices.Sorted(maps.Keys(b.cards)) {
		own := 0.0
		for _, c := range t.QueueCards {
			if c.Card == card {
				own += c.Used
			}
		}

		has := b.cards[card] * now.Seconds()
		t.Cards = append(t.Cards, OfCard{card, b.cards[card], Quotient(own, has)})
		used += own
		all += has
	}

	t.Utilisation = Quotient(used, all)
}

func (b *Book) addQueues(t *Totals, locks []LockOut) {
	sums := map[string]QueueCard{}
	for _, c := range t.QueueCards {
		sum := sums[c.Queue]
		sum.Used += c.Used
		sum.Due += c.Due
		sum.Had += c.Had
		sums[c.Queue] = sum
	}

	var shares []float64
	for _, queue := range slices.Sorted(maps.Keys(sums)) {
		sum := sums[queue]
		q := OfQueue{Queue: queue, CardHours: sum.Used / 3600, Satisfied: Quotient(sum.Had, sum.Due)}
		if sum.Due > 0 {
			shares = append(shares, q.Satisfied)
		}

		if i := slices.IndexFunc(locks, func(l LockOut) bool { return l.Queue == queue }); i >= 0 {
			q.LockOut = locks[i]
		}
		t.Queues = append(t.Queues, q)
	}

	t.Jain = Jain(shares)
	t.JainOfUse = Jain(b.uses(t.QueueCards))
	if len(locks) > 0 {
		t.LockOut = locks[0]
	}
}

// uses returns the allocated cards of queues by their deserved. Queues that deserve nothing or never want anything are
// left out. It ends at the last submission: afterwards, queues without work cannot use their part.
func (b *Book) uses(queueCards []*QueueCard) (uses []float64) {
	used, deserved := map[string]float64{}, map[string]float64{}
	for _, c := range queueCards {
		if due := c.Deserved.sum(b.last); due > 0 && c.Due > 0 {
			used[c.Queue] += c.Allocated.sum(b.last)
			deserved[c.Queue] += due
		}
	}

	for _, queue := range slices.Sorted(maps.Keys(deserved)) {
		uses = append(uses, used[queue]/deserved[queue])
	}
	return uses
}
