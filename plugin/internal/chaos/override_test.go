package chaos

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
)

// windows draws windows of queues, in the hour of the world.
func (d *draw) windows() {
	if d.plain || d.crowd || !d.chance(25) {
		return
	}
	for i, act := range d.s.Acts {
		set, is := act.Deed.(SetQueue)
		if !is || set.Hollow || set.Name == index.RootName || !d.chance(40) {
			continue
		}
		d.annotateQueue(i, policy.OverrideKey, d.override(act.Cycle))
	}
}

// override draws windows that begin at a cycle or later.
func (d *draw) override(cycle int) string {
	if d.chance(5) {
		return pick(d, "[", `[{"max-jobs":1}]`, `[{"from":"1970-01-01T00:09Z","until":"1970-01-01T00:03Z","max-jobs":1}]`)
	}
	var all []string
	for range 1 + d.IntN(3) {
		from := cycle + d.IntN(chaosCycles)
		window := fmt.Sprintf(`{"from":%q,"until":%q`, minuteOf(from), minuteOf(from+1+d.IntN(20)))
		for _, key := range []string{card.QuotaKey, card.DeservedKey} {
			if d.chance(60) {
				window += fmt.Sprintf(`,%q:{"A":%d%s}`, policy.Short(key), d.IntN(10), pick(d, "", `,"B":3`, `,"C":0`))
			}
		}
		if d.rules && d.chance(50) {
			window += pick(d, `,"min-runtime":"reclaim=2m"`, `,"reclaim-delay":"1m"`, `,"card.quota.by":{"namespace":{"*":{"A":2}}}`)
		}
		all = append(all, window+fmt.Sprintf(`,"max-jobs":%d}`, 1+d.IntN(9)))
	}
	return "[" + strings.Join(all, ",") + "]"
}

func minuteOf(cycle int) string {
	return time.Unix(int64(cycle)*60, 0).UTC().Format("2006-01-02T15:04Z")
}

// modelWindow is a window as docs/spec/policies.md describes it, in UTC.
type modelWindow struct {
	from, until string // with a date, or a time of each day
	days        string // all if it is empty
	sets        map[string]json.RawMessage
}

const dated, daily = "2006-01-02T15:04Z", "15:04"

// valid reports whether a window ends after it begins.
func (w modelWindow) valid() bool {
	from, err := time.Parse(dated, w.from)
	until, err2 := time.Parse(dated, w.until)
	_, err3 := time.Parse(daily, w.from)
	return err == nil && err2 == nil && from.Before(until) || err3 == nil && w.from < w.until
}

// holds reports whether a window holds: the clock shows a time from its beginning until its end.
func (w modelWindow) holds(now time.Time) bool {
	shown := now.UTC().Format(dated)
	if len(w.from) == len(daily) {
		shown = now.UTC().Format(daily)
	}
	return w.from <= shown && shown < w.until && strings.Contains(w.days, now.UTC().Format("Mon"))
}

// readWindows reads the windows of a queue as the scheduler does: a wrong text leaves the last good ones in force.
func (q *annotations) readWindows(given map[string]string) {
	text, has := given[policy.OverrideKey]
	if !has {
		q.windows = nil
		return
	}
	var all []map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &all) != nil {
		q.bad = true
		return
	}
	var windows []modelWindow
	for _, one := range all {
		text := func(key, otherwise string) string {
			value, has := one[key]
			delete(one, key)
			if !has {
				return otherwise
			}
			return strings.Trim(string(value), `"`)
		}
		w := modelWindow{text("from", ""), text("until", ""), text("days", "Mon,Tue,Wed,Thu,Fri,Sat,Sun"), one}
		if !w.valid() {
			q.bad = true
			return
		}
		windows = append(windows, w)
	}
	q.windows = windows
}

// now returns the annotations of a queue that hold at a time.
func (q *annotations) now(given map[string]string, now time.Time) map[string]string {
	q.readWindows(given)
	all := maps.Clone(given)
	for _, w := range q.windows {
		if !w.holds(now) {
			continue
		}
		for key, value := range w.sets {
			key = policy.Prefix + key
			if base, has := all[key]; has && value[0] == '{' {
				all[key] = merged(base, value)
			} else {
				all[key] = strings.Trim(string(value), `"`)
			}
		}
	}
	return all
}

// specCapability returns the capability of the spec that holds in a queue.
func (w *chaos) specCapability(q *Queue) workload.Resources {
	all := q.Spec.Queue.Capability
	for _, window := range w.readOf(q).windows {
		set := window.sets["capability"]
		if set == nil || !window.holds(w.Clock()) {
			continue
		}
		var list v1.ResourceList
		_ = json.Unmarshal(set, &list)
		all = maps.Clone(all)
		for name, quantity := range list {
			all[string(name)] = quantity.MilliValue()
			if name != v1.ResourceCPU {
				all[string(name)] = quantity.Value()
			}
		}
	}
	return all
}

// merged merges an object into the text of another. A text that is none stays.
func merged(base string, with json.RawMessage) string {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(base), &all) != nil || all == nil {
		return base
	}
	var more map[string]json.RawMessage
	_ = json.Unmarshal(with, &more)
	maps.Copy(all, more)
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		texts = append(texts, fmt.Sprintf("%q:%s", key, all[key]))
	}
	return "{" + strings.Join(texts, ",") + "}"
}
