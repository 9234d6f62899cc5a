package policy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// annotation describes how an annotation is read. It has one value, or a list of words.
type annotation struct {
	name  string
	want  string // describes a valid value, for the end of "is not …"
	key   Key
	parse func(*Value, string) bool // of one value
	words *list                     // nil for one value
}

// keys returns the keys that the annotation sets.
func (a *annotation) keys() []Key {
	if a.words == nil {
		return []Key{a.key}
	}
	return a.words.keys()
}

// read parses a text. The values are all or none of its keys.
func (a *annotation) read(text string) (values Values, problem string) {
	trimmed := strings.TrimSpace(text)
	if a.words != nil {
		values, problem = a.words.parse(trimmed)
	} else {
		v := Value{Set: true, Text: trimmed}
		if a.parse(&v, trimmed) {
			values[a.key] = v
		} else {
			problem = "is not " + a.want
		}
	}

	if problem != "" {
		return Values{}, quote(text) + " " + problem
	}
	return values, ""
}

// quote returns a text of an annotation for a message.
func quote(text string) string { return strconv.Quote(index.Shorten(text, 100)) }

// Annotated reports whether an object has any policy annotation.
func Annotated(of map[string]string) bool {
	if len(of) == 0 {
		return false
	}

	return slices.ContainsFunc(annotations, func(a annotation) bool {
		_, given := of[a.name]
		return given
	})
}

// Wrong is an annotation with a problem. Problem.Key is its name.
type Wrong struct {
	card.Problem
	Keys []Key // that it would set
}

// Parse parses the annotations of a queue. The keys of an annotation with a problem are not set. The caller decides
// which values they have.
func Parse(of map[string]string) (values Values, wrong []Wrong) {
	if !Annotated(of) {
		return values, nil
	}

	for i := range annotations {
		a := &annotations[i]
		text, given := of[a.name]
		if !given {
			continue
		}

		read, problem := a.read(text)
		if problem != "" {
			wrong = append(wrong, Wrong{card.Problem{Key: a.name, Reason: problem}, a.keys()})
			continue
		}

		for _, key := range a.keys() {
			values[key] = read[key]
		}
	}

	return values, wrong
}

// Held is a policy that is in force in a queue.
type Held struct {
	Key   Key
	Name  string // of the annotation
	Text  string // of the annotation, or of its words that set the key
	Level int    // in the path: the queue that sets it, 0 for the queue itself
	// Whole: the policy is one bound, or one fence, for the whole subtree of that queue.
	Whole bool
	// Takes: the policy decides which queue takes from which. It has no effect under the name proportion.
	Takes bool
}

// InForce returns the policies that are in force in a queue, in the order of the keys. path has the
// annotations of the queue and its ancestors, from the queue up. InForce leaves out a text that lifts
// a policy, such as a duration of 0, and a text with a problem.
func InForce(path []map[string]string) (all []Held) {
	var found [keys][]Held
	for level, annotations := range path {
		values, _ := Parse(annotations)
		for k, v := range values {
			if !v.Set || inherited[k] && found[k] != nil {
				continue
			}

			key := Key(k)
			held := Held{Key: key, Name: nameOf(key), Level: level, Whole: !inherited[k], Takes: key >= ReclaimFence}
			if !v.lifts(key) {
				held.Text = v.Text
			}
			found[k] = append(found[k], held)
		}
	}

	// A lifted policy has no text. Up to here, it hides the policy that the ancestors would pass on.
	for k := range found {
		all = append(all, slices.DeleteFunc(found[k], func(h Held) bool { return h.Text == "" })...)
	}

	return all
}

// nameOf returns the name of the annotation that sets a key.
func nameOf(k Key) string { return annotationOf(k).name }

func annotationOf(k Key) *annotation {
	i := slices.IndexFunc(annotations, func(a annotation) bool { return slices.Contains(a.keys(), k) })
	return &annotations[i]
}

// String returns the name of the annotation, with the word that sets the key if others set other keys, such as
// volcano.sh/min-runtime (preempt).
func (k Key) String() string {
	if word := k.Word(); word != "" {
		return nameOf(k) + " (" + word + ")"
	}
	return nameOf(k)
}

// Word returns the word that sets the key, such as preempt, or "" where the annotation has no other keys.
func (k Key) Word() (word string) {
	a := annotationOf(k)
	if a.words == nil {
		return ""
	}

	for _, w := range a.words.words {
		if w.key == k {
			word = strings.TrimSuffix(w.prefix, "=")
		}
	}
	return word
}

// MarshalText writes a key as String does.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// lifts reports whether the value of a key has the effect of no policy.
func (v Value) lifts(k Key) bool {
	switch k {
	case ReclaimFence, EnforceQuota, FairShareNamespaces, Displace:
		return !v.Flag
	case FairShare:
		return v.Flag
	case JobOrder:
		return v.Order.Rule == BestEffort
	case FairShareHold, InqueueTimeout, MinRuntime, PreemptMinRuntime, ReclaimDelay:
		return v.Duration == 0
	case CardBudget:
		return len(v.Budgets) == 0
	case SoftQuota:
		return len(v.Cards) == 0
	case HolderQuota:
		return len(v.Holders) == 0
	}
	return false
}

// Word is a word of an annotation that sets a key.
type Word struct {
	Annotation string
	Key        Key
	Text       string
}

// OverTime returns the words about usage over time. They have no effect without the argument fairShareHalfLife.
func (v *Values) OverTime() (words []Word) {
	for k := FairShare; k <= FairShareHold; k++ {
		if v[k].Set {
			words = append(words, Word{nameOf(k), k, v[k].Text})
		}
	}

	return words
}

// Problems returns the problems of policy annotations, in the order of the keys.
func Problems(of map[string]string) (all []card.Problem) {
	_, wrong := Parse(of)
	for _, w := range wrong {
		all = append(all, w.Problem)
	}

	return all
}

// Keys returns the names of all policy annotations.
func Keys() (all []string) {
	for _, a := range annotations {
		all = append(all, a.name)
	}

	return all
}

// Prefix begins the names of all policy annotations, and of Volcano's own annotations. So an
// unknown key is a mistake only if it resembles the name of a policy.
const Prefix = "volcano.sh/"

// Short returns the name of an annotation without the prefix, such as max-jobs.
func Short(name string) string { return strings.TrimPrefix(name, Prefix) }

// Unknown returns the annotations of a queue that look like policies but have no effect, in the order of their names.
// card.QueueKeys finds the names that begin with card.Prefix.
func Unknown(of map[string]string) (problems []card.Problem) {
	for name := range of {
		ours := strings.HasPrefix(name, Prefix) && !strings.HasPrefix(name, card.Prefix)
		if !ours || slices.Contains(names, name) || slices.Contains(card.QueueKeys, name) {
			continue
		}

		reason := card.Renamed(name)
		if suggestion := index.DidYouMean(name, names); reason == "" && suggestion != "" {
			reason = "is unknown and has no effect" + suggestion
		}
		if reason != "" {
			problems = append(problems, card.Problem{Key: name, Reason: reason})
		}
	}

	slices.SortFunc(problems, func(x, y card.Problem) int { return strings.Compare(x.Key, y.Key) })
	return problems
}

// names are the names of the policies, without the names of cards: card.QueueKeys finds misspelt ones.
var names = func() []string {
	all := append(Keys(), OverrideKey)
	return slices.DeleteFunc(all, func(name string) bool { return slices.Contains(card.QueueKeys, name) })
}()
