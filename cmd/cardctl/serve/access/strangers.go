package access

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
)

// The limits of reviews of unknown tokens: of all such tokens, and of one client address. Behind a
// proxy all clients have one address.
const (
	strangersQPS, strangersBurst = 50, 200
	addressQPS, addressBurst     = 10, 100
	mostAddresses                = 4096
	addressTime                  = time.Hour // an address that sends nothing is kept for so long
)

// strangers admits requests with tokens that are not known to be valid. It refuses requests beyond
// its limits at once: nobody waits for them.
type strangers struct {
	clock     clock.PassiveClock
	all       flowcontrol.PassiveRateLimiter
	mu        sync.Mutex
	addresses *cache.LRUExpireCache // of flowcontrol.PassiveRateLimiter, by address
}

func newStrangers(c clock.PassiveClock) *strangers {
	return &strangers{
		clock:     c,
		all:       flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(strangersQPS, strangersBurst, c),
		addresses: cache.NewLRUExpireCacheWithClock(mostAddresses, c),
	}
}

// admit reports whether a token from an address may be reviewed.
func (s *strangers) admit(address string) bool {
	return s.limiter(address).TryAccept() && s.all.TryAccept()
}

func (s *strangers) limiter(address string) flowcontrol.PassiveRateLimiter {
	s.mu.Lock()
	defer s.mu.Unlock()

	limiter, known := s.addresses.Get(address)
	if !known {
		limiter = flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(addressQPS, addressBurst, s.clock)
	}
	s.addresses.Add(address, limiter, addressTime)
	return limiter.(flowcontrol.PassiveRateLimiter)
}

// strangersLog writes a line about requests with tokens that are not valid, at most every
// reportTime. A line has no token.
type strangersLog struct {
	clock clock.PassiveClock
	log   Log

	mu               sync.Mutex
	written          time.Time // when the last line was
	invalid, refused int       // since then: all requests, and requests without a review
}

// add counts a request. reviewed is false if it was refused without a review.
func (l *strangersLog) add(address string, reviewed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.invalid++
	if !reviewed {
		l.refused++
	}
	if l.clock.Since(l.written) < reportTime {
		return
	}

	l.log("warning: requests with tokens that are not known: %d, of which %d were refused without a review, "+
		"because they were too many; the last one is from %s",
		l.invalid, l.refused, address)
	l.written = l.clock.Now()
	l.invalid = 0
	l.refused = 0
}
