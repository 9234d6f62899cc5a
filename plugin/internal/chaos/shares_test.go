package chaos

import (
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
)

// modelShare is a share of the cards of the nodes, in hundredths of a percent, with bounds in whole cards.
type modelShare struct{ hundredths, min, max int64 }

var shareText = regexp.MustCompile(`^"(\d+)(?:\.(\d\d))?%(?:,min=(\d+))?(?:,max=(\d+))?"$`)

// readShare reads a share of random worlds in JSON.
func readShare(text string) (s modelShare, is bool) {
	found := shareText.FindStringSubmatch(text)
	if found == nil {
		return s, false
	}
	number := func(text string, unset int64) int64 {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		return unset
	}
	s = modelShare{100*number(found[1], 0) + number(found[2], 0), number(found[3], 0), number(found[4], math.MaxInt64)}
	return s, s.hundredths <= 10000 && s.min <= s.max
}

// drawnNumber matches the number of cards of one card in an annotation.
var drawnNumber = regexp.MustCompile(`:\d+([,}])`)

// shares makes shares of some numbers of cards. The model does not know which queues are siblings where annotations place
// them below names without queues.
func (d *draw) shares() {
	if d.plain || d.s.Arguments[arguments.HierarchyFrom] != nil || !d.chance(20) {
		return
	}
	for i, act := range d.s.Acts {
		set, is := act.Deed.(SetQueue)
		if !is || set.Hollow {
			continue
		}
		for _, key := range quotaKeys {
			if text, given := set.Annotations[key]; given && d.chance(70) {
				d.annotateQueue(i, key, drawnNumber.ReplaceAllStringFunc(text, func(number string) string {
					if d.chance(30) {
						return number
					}
					return `:"` + pick(d, "50%", "50%", "33.33%", "33.34%", "25%", "100%", "0%,min=1", "75%,max=9", "20%,min=2,max=4", "101%", "10%,min=2,max=1") +
						`"` + number[len(number)-1:]
				}))
			}
		}
	}
}

// resolveShares sets what shares of the cards of the nodes are when a session opens: of what nodes give and pods of
// queues hold, in whole cards. Shares of 100% of queues with one parent lose none.
func (c *chaosCycle) resolveShares() {
	for _, key := range quotaKeys {
		for _, queue := range sortedKeys(c.World.Queues) {
			read := c.readOf(c.World.Queues[queue])
			for name, s := range read.shares[key] {
				read.good[key][name] = max(s.min, min(s.max, c.wholeOf(queue, key, name, s.hundredths)))
			}
		}
	}
}

// wholeOf returns the whole cards of a share of a queue, with the one that rounding leaves to it.
func (c *chaosCycle) wholeOf(queue, key, name string, hundredths int64) int64 {
	stock := int64(c.stock(cardPrefix+name) + c.lost[cardPrefix+name])
	exact := stock * hundredths
	sum := int64(0)
	left := stock / 1000
	siblings := []string{queue}
	if path := c.Path(queue); !c.Tree {
		siblings = c.children("")
	} else if queue != index.RootName && len(path) > 1 {
		siblings = c.children(path[1])
	}
	var ahead int64 // queues that lose more by rounding, or as much and have an earlier name
	for _, other := range slices.Sorted(slices.Values(siblings)) {
		if c.World.Queues[other] == nil {
			continue
		}
		read := c.readOf(c.World.Queues[other])
		s, is := read.shares[key][name]
		if _, stated := read.good[key][name]; stated && !is {
			return exact / 1e7 // one of them is a number
		}
		if is {
			sum += s.hundredths
			left -= stock * s.hundredths / 1e7
			if lost := stock * s.hundredths % 1e7; lost > exact%1e7 || lost == exact%1e7 && other < queue {
				ahead++
			}
		}
	}
	if sum == 10000 && ahead < left {
		return exact/1e7 + 1
	}
	return exact / 1e7
}
