package check

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/capacity-card/capacity-card/e2e/history"
)

// Shorten returns a part of a history with the same finding. It drops the records after the finding, and all objects
// that the finding does not need. It tries to drop ever smaller parts of the remaining objects.
func Shorten(records []history.Record, finding Finding) ([]history.Record, error) {
	changes, err := decodeAll(records)
	if err != nil {
		return nil, err
	}

	last := len(changes)
	for last > 0 && changes[last-1].Revision > finding.Revision {
		last--
	}
	changes = changes[:last]
	if !finding.in(changes) {
		return records, nil
	}

	var shortened []history.Record
	for _, each := range finding.minimize(changes) {
		shortened = append(shortened, each.Record)
	}

	return shortened, nil
}

// in reports whether a replay of changes has the finding.
func (f Finding) in(changes []change) bool {
	report, err := replay(changes)
	return err == nil && slices.ContainsFunc(report.Findings, f.same)
}

// minimize drops the objects that the finding does not need.
func (f Finding) minimize(changes []change) []change {
	objects := objectsOf(changes)
	for size := (len(objects) + 1) / 2; size > 0; size /= 2 {
		for at := 0; at < len(objects); {
			rest := without(changes, objects[at:min(at+size, len(objects))])
			if !f.in(rest) {
				at += size
				continue
			}

			changes = rest
			objects = objectsOf(rest)
		}
	}

	return changes
}

// key identifies the object of a record, or the mark, or the kind of a gap.
func (c change) key() string {
	switch {
	case c.Mark != nil:
		return "mark " + c.Mark.What + " " + c.Mark.Name
	case c.name == "":
		return string(c.Type) + " " + c.Kind
	}
	return c.name + " " + string(c.uid)
}

// objectsOf returns the keys of all objects in changes, in order.
func objectsOf(changes []change) (keys []string) {
	seen := sets.New[string]()
	for _, each := range changes {
		key := each.key()
		if !seen.Has(key) {
			seen.Insert(key)
			keys = append(keys, key)
		}
	}

	return keys
}

// without returns the changes of all other objects.
func without(changes []change, dropped []string) (rest []change) {
	leftOut := sets.New(dropped...)
	for _, each := range changes {
		if !leftOut.Has(each.key()) {
			rest = append(rest, each)
		}
	}

	return rest
}
