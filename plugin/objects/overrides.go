package objects

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/override"
	"github.com/capacity-card/capacity-card/index/policy"
)

// windows are the overrides of a queue, and those that hold.
type windows struct {
	overrides override.Overrides // the last good ones
	text      string             // the annotation
	problems  []string           // of the text, and windows of it that hold at the same time

	since, next time.Time // what holds was found at since, and changes at next; zero for never
	holding     []int
}

// inForce describes the windows that hold.
func (w *windows) inForce() (all []string) {
	if w == nil {
		return nil
	}
	for _, i := range w.holding {
		text := w.overrides[i].String() + ":"
		for _, key := range w.overrides[i].Keys() {
			text += " " + key + " " + index.Shorten(w.overrides[i].Text(key), 100)
		}
		all = append(all, text)
	}
	return all
}

// due reports whether other windows can hold than when the queue was read. A clock can go back.
func (w *windows) due(now time.Time) bool {
	return w != nil && (now.Before(w.since) || !w.next.IsZero() && !now.Before(w.next))
}

// readWindows reads the overrides of an object, nil for one without the annotation. before are those of the object
// before.
func readWindows(before *windows, object *scheduling.Queue, now time.Time) *windows {
	text, given := object.Annotations[override.Key]
	if !given {
		return nil
	}
	w := &windows{text: text, since: now}
	if before != nil {
		w.overrides, w.problems = before.overrides, before.problems
	}
	if before == nil || before.text != text {
		w.parse(text, now)
	}
	w.holding, w.next = w.overrides.At(now)
	return w
}

// parse reads the text of the annotation. One with a problem leaves the windows in force that were.
func (w *windows) parse(text string, now time.Time) {
	overrides, problems := override.Parse(text)
	kept := ""
	switch {
	case len(problems) == 0:
		w.overrides, problems = overrides, overrides.Overlaps(now)
	case w.overrides == nil:
		kept = "; it counts as not set"
	default:
		kept = "; the last good value stays in force"
	}
	w.problems = nil
	for _, p := range problems[:min(len(problems), 5)] {
		w.problems = append(w.problems, fmt.Sprintf("annotation %s: %s%s", p.Key, p.Reason, kept))
	}
}

// annotations returns the annotations that hold.
func (w *windows) annotations(given map[string]string) map[string]string {
	all := maps.Clone(given)
	for _, key := range override.Annotations {
		base, has := given[key]
		if text, set := w.overrides.Set(policy.Short(key), base, has, w.holding); set {
			all[key] = text
		}
	}
	return all
}

// object returns the object with the spec that holds, the same one where no window changes it.
func (w *windows) object(given *scheduling.Queue) *scheduling.Queue {
	spec := given.Spec
	for key, list := range map[string]*v1.ResourceList{
		override.Capability: &spec.Capability, override.Deserved: &spec.Deserved, override.Guarantee: &spec.Guarantee.Resource,
	} {
		for _, i := range w.holding {
			if set := w.overrides[i].Resources(key); set != nil {
				merged := v1.ResourceList{}
				maps.Copy(merged, *list)
				maps.Copy(merged, set)
				*list = merged
			}
		}
	}
	if text, set := w.overrides.Set(override.Weight, "", false, w.holding); set {
		n, _ := strconv.ParseInt(text, 10, 32)
		spec.Weight = int32(n)
	}
	if equality.Semantic.DeepEqual(spec, given.Spec) {
		return given
	}
	changed := *given
	changed.Spec = spec
	return &changed
}
