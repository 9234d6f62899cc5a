package objects

import (
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/override"
	"github.com/capacity-card/capacity-card/index/policy"
)

// windows are the overrides of a queue, with the windows in force.
type windows struct {
	overrides override.Overrides // the last good ones
	text      string             // the annotation
	good      string             // the text of the overrides, "" for none
	problems  []string           // errors of the text, and windows that overlap

	holding []int     // the windows in force
	since   time.Time // when holding was computed
	next    time.Time // when holding changes, zero for never
}

// inForce describes the windows in force.
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

// due reports whether the windows in force may have changed since the queue was read.
func (w *windows) due(now time.Time) bool {
	if w == nil {
		return false
	}

	wentBack := now.Before(w.since) // a clock can
	return wentBack || !w.next.IsZero() && !now.Before(w.next)
}

// readWindows reads the overrides of an object, nil if it has no annotation. before are the windows that the queue had,
// nil for none. Then good is the last good text, "" for none.
func readWindows(before *windows, object *scheduling.Queue, now time.Time, good string) *windows {
	text, given := object.Annotations[override.Key]
	if !given {
		return nil
	}

	w := &windows{text: text, since: now}
	switch {
	case before != nil:
		w.overrides = before.overrides
		w.problems = before.problems
		w.good = before.good
	case good != "":
		w.text = good
		w.parse(now)
		w.text = text
	}
	if before == nil || before.text != text {
		w.parse(now)
	}

	w.holding, w.next = w.overrides.At(now)
	return w
}

// parse reads the text of the annotation. A text with a problem leaves the last good overrides.
func (w *windows) parse(now time.Time) {
	overrides, problems := override.Parse(w.text)
	kept := ""
	switch {
	case len(problems) == 0:
		w.overrides = overrides
		w.good = w.text
		problems = overrides.Overlaps(now)
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

// annotations returns the given annotations with the values that the windows in force set.
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

// object returns the object with the spec in force. It is the given object if no window changes the spec.
func (w *windows) object(given *scheduling.Queue) *scheduling.Queue {
	spec := given.Spec
	w.override(override.Capability, &spec.Capability)
	w.override(override.Deserved, &spec.Deserved)
	w.override(override.Guarantee, &spec.Guarantee.Resource)
	if text, set := w.overrides.Set(override.Weight, "", false, w.holding); set {
		n, _ := strconv.ParseInt(text, 10, 32)
		spec.Weight = int32(n)
	}

	if reflect.DeepEqual(spec, given.Spec) { // Quantity.Cmp writes out all digits of 1e2000000000
		return given
	}
	changed := *given
	changed.Spec = spec
	return &changed
}

// override replaces a list by a copy with the resources that the windows in force set.
func (w *windows) override(key string, list *v1.ResourceList) {
	for _, i := range w.holding {
		set := w.overrides[i].Resources(key)
		if set == nil {
			continue
		}

		merged := v1.ResourceList{}
		maps.Copy(merged, *list)
		maps.Copy(merged, set)
		*list = merged
	}
}
