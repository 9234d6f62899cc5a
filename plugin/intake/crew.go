package intake

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// chunk is the number of jobs or nodes that a worker takes at a time.
const chunk = 64

// alone is the number of jobs or nodes for which no further worker is worth its start: where all processors are busy,
// it begins half a millisecond later, and the work waits for it.
const alone = 512

// workersFor returns how many workers share n items: at most one for each processor, and a further one for each least
// items.
func workersFor(n, least int) int { return min(runtime.GOMAXPROCS(0), 1+n/least) }

// crew is a set of workers that read jobs and nodes. Reading mostly waits for memory, so several goroutines are faster
// even on one core. A crew is kept across sessions, so that its work allocates nothing. The zero crew is ready.
type crew struct {
	n           int // items of the work
	do          func(worker, from, to int)
	next, taken atomic.Int64
	others      sync.WaitGroup
	other       func()
}

// share splits n items among workers, which call do for parts of them. Calls of the same worker do not overlap.
func (c *crew) share(workers, n int, do func(worker, from, to int)) {
	c.n = n
	c.do = do
	c.next.Store(0)
	c.taken.Store(0)
	if c.other == nil {
		c.other = func() {
			defer c.others.Done()
			c.work()
		}
	}

	c.others.Add(workers - 1)
	for range workers - 1 {
		go c.other()
	}

	c.work()

	c.others.Wait()
	c.do = nil // so that the session can be garbage collected
}

// work takes parts of the items until none is left.
func (c *crew) work() {
	worker := int(c.taken.Add(1)) - 1
	for {
		to := int(c.next.Add(chunk))
		from := to - chunk
		if from >= c.n {
			return
		}

		c.do(worker, from, min(to, c.n))
	}
}
