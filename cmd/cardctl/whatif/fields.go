package whatif

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
)

// settingForm is the syntax of a setting.
const settingForm = "queue/NAME:FIELD=VALUE, where FIELD is cards.CARD, deservedCards.CARD, guaranteeCards.CARD, " +
	"capability.RESOURCE, deserved.RESOURCE, guarantee.RESOURCE, parent, hierarchy, hierarchy-weights, priority, " +
	"reclaimable, state, weight, or a policy such as max-jobs"

// cardFields are the fields that a card follows.
var cardFields = sets.New("cards", "deservedCards", "guaranteeCards")

// The fields that place a queue where annotations make the tree.
var (
	pathField    = policy.Short(index.PathKey)
	weightsField = policy.Short(index.WeightsKey)
)

// fields are the fields of a setting, without policies. A name ends with a dot if a key follows: a card or a resource.
var fields = []struct {
	name string
	set  func(q *scheduling.Queue, key, value string) error
}{
	{"cards.", setCards(card.QuotaKey)},
	{"deservedCards.", setCards(card.DeservedKey)},
	{"guaranteeCards.", setCards(card.GuaranteeKey)},
	{"capability.", func(q *scheduling.Queue, key, value string) error {
		return setResource(&q.Spec.Capability, key, value)
	}},
	{"deserved.", func(q *scheduling.Queue, key, value string) error {
		return setResource(&q.Spec.Deserved, key, value)
	}},
	{"guarantee.", func(q *scheduling.Queue, key, value string) error {
		return setResource(&q.Spec.Guarantee.Resource, key, value)
	}},
	{"parent", func(q *scheduling.Queue, _, value string) error {
		q.Spec.Parent = value
		return nil
	}},
	{pathField, func(q *scheduling.Queue, _, value string) error {
		annotate(q, index.PathKey, value)
		return nil
	}},
	{weightsField, func(q *scheduling.Queue, _, value string) error {
		annotate(q, index.WeightsKey, value)
		return nil
	}},
	{"priority", func(q *scheduling.Queue, _, value string) error {
		return setWhole(&q.Spec.Priority, value, 0, math.MinInt32)
	}},
	{"reclaimable", func(q *scheduling.Queue, _, value string) error { return setBool(&q.Spec.Reclaimable, value) }},
	{"state", setState},
	{"weight", func(q *scheduling.Queue, _, value string) error {
		return setWhole(&q.Spec.Weight, value, 1, 1) // the default and the minimum of Volcano
	}},
}

// Policies returns the names of the annotations that are policies, without the prefix. Each is a field of a setting.
func Policies() (names []string) {
	for _, key := range policy.Keys() {
		names = append(names, strings.TrimPrefix(key, policy.Prefix))
	}
	return names
}

// fieldNames returns the names of all fields of a setting.
func fieldNames() (names []string) {
	for _, f := range fields {
		names = append(names, f.name)
	}
	return append(names, Policies()...)
}

// set sets a field of a queue.
func set(q *scheduling.Queue, name, value string) error {
	if slices.Contains(Policies(), name) {
		return setPolicy(q, policy.Prefix+name, value)
	}

	kind, key, _ := strings.Cut(name, ".")
	for _, f := range fields {
		if strings.TrimSuffix(f.name, ".") == kind {
			return f.set(q, key, value)
		}
	}

	known := fieldNames()
	for i := range known {
		known[i] = strings.TrimSuffix(known[i], ".")
	}
	if hint := index.DidYouMean(kind, known); hint != "" {
		return fmt.Errorf("no field %q%s", name, hint)
	}
	return fmt.Errorf("no field %q: want %s", name, settingForm)
}

func setPolicy(q *scheduling.Queue, key, value string) error {
	if problems := policy.Problems(map[string]string{key: value}); value != "" && len(problems) > 0 {
		return errors.New(problems[0].Reason)
	}
	annotate(q, key, value)
	return nil
}

// annotate sets an annotation. An empty value removes it.
func annotate(q *scheduling.Queue, key, value string) {
	if value == "" {
		delete(q.Annotations, key)
		return
	}

	if q.Annotations == nil {
		q.Annotations = map[string]string{}
	}

	q.Annotations[key] = value
}

func setState(q *scheduling.Queue, _, value string) error {
	states := []scheduling.QueueState{scheduling.QueueStateOpen, scheduling.QueueStateClosed}
	if !slices.Contains(states, scheduling.QueueState(value)) {
		return fmt.Errorf("%q is not one of %v", value, states)
	}
	q.Status.State = scheduling.QueueState(value)
	return nil
}

// setWhole sets a whole number that has a minimum. An empty value is unset.
func setWhole(to *int32, value string, unset int32, minimum int64) error {
	if value == "" {
		*to = unset
		return nil
	}

	number, err := strconv.ParseInt(value, 10, 32)
	if err != nil || number < minimum {
		return fmt.Errorf("%q is not a whole number of at least %d", value, minimum)
	}
	*to = int32(number)
	return nil
}

func setBool(to **bool, value string) error {
	switch value {
	case "":
		*to = nil
	case "true", "false":
		on := value == "true"
		*to = &on
	default:
		return fmt.Errorf("%q is not true or false", value)
	}
	return nil
}

// setCards returns a function that sets the amount of one card in the JSON of an annotation: a number of cards, or a
// share of the cards of the nodes such as 25%.
func setCards(annotation string) func(q *scheduling.Queue, name, value string) error {
	return func(q *scheduling.Queue, name, value string) error {
		amounts, problems := card.ParseAmounts(q.Annotations[annotation])
		if len(problems) > 0 && q.Annotations[annotation] != "" {
			return fmt.Errorf("annotation %s: %s", annotation, problems[0])
		}

		amounts = slices.DeleteFunc(amounts, func(a card.Amount) bool { return a.Name == name })
		if value != "" {
			amount, err := amountOf(name, value)
			if err != nil {
				return err
			}
			amounts = append(amounts, amount...)
		}

		annotate(q, annotation, card.WriteAmounts(amounts))
		return nil
	}
}

// amountOf parses the amount of one card.
func amountOf(name, value string) ([]card.Amount, error) {
	var amount any = json.Number(value)
	if strings.Contains(value, "%") {
		amount = value
	}

	text, err := json.Marshal(map[string]any{name: amount})
	if err != nil {
		return nil, fmt.Errorf("%q is no number", value)
	}

	amounts, problems := card.ParseAmounts(string(text))
	if len(problems) > 0 {
		return nil, problems[0]
	}
	return amounts, nil
}

func setResource(list *v1.ResourceList, name, value string) error {
	if *list == nil {
		*list = v1.ResourceList{}
	}
	if value == "" {
		delete(*list, v1.ResourceName(name))
		return nil
	}

	// ParseQuantity writes out all digits of 1e-2000000000.
	if card.LongExponent([]byte(value)) {
		return fmt.Errorf("%q is no quantity", value)
	}
	quantity, err := resource.ParseQuantity(value)
	if err != nil {
		return fmt.Errorf("%q is no quantity", value)
	}
	(*list)[v1.ResourceName(name)] = quantity
	return nil
}
