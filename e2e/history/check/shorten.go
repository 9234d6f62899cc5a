package check

import (
	"github.com/capacity-card/capacity-card/e2e/history"
)

// Shorten returns the part of a history in which a finding is the same: no record after it, and of the objects only
// those without which it is not found. It drops objects by ever smaller parts of those that are left.
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
	still := func(some []change) bool {
		report, err := replay(some)
		if err != nil {
			return false
		}
		for _, each := range report.Findings {
			if each.same(finding) {
				return true
			}
		}
		return false
	}
	if !still(changes) {
		return records, nil
	}
	objects := objectsOf(changes)
	for size := (len(objects) + 1) / 2; size > 0; size /= 2 {
		for at := 0; at < len(objects); {
			dropped := map[string]bool{}
			for _, name := range objects[at:min(at+size, len(objects))] {
				dropped[name] = true
			}
			if rest := without(changes, dropped); still(rest) {
				changes, objects = rest, objectsOf(rest)
				continue
			}
			at += size
		}
	}
	shortened := make([]history.Record, 0, len(changes))
	for _, each := range changes {
		shortened = append(shortened, each.Record)
	}
	return shortened, nil
}

// key names the object that a record is a revision of, or the mark, or the kind of a gap.
func (c change) key() string {
	switch {
	case c.Mark != nil:
		return "mark " + c.Mark.What + " " + c.Mark.Name
	case c.name == "":
		return string(c.Type) + " " + c.Kind
	}
	return c.name + " " + string(c.uid)
}

func objectsOf(changes []change) (keys []string) {
	seen := map[string]bool{}
	for _, each := range changes {
		if key := each.key(); !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

func without(changes []change, dropped map[string]bool) []change {
	rest := make([]change, 0, len(changes))
	for _, each := range changes {
		if !dropped[each.key()] {
			rest = append(rest, each)
		}
	}
	return rest
}
