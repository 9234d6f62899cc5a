// Package whatif changes clusters in memory and compares the outcomes.
package whatif

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
)

// ErrSetting is the error for settings that cannot be parsed.
var ErrSetting = errors.New("bad setting")

// settingForm is the syntax of a setting.
const settingForm = "queue/NAME:FIELD=VALUE, where FIELD is cards.CARD, deservedCards.CARD, guaranteeCards.CARD, " +
	"capability.RESOURCE, deserved.RESOURCE, guarantee.RESOURCE, parent, hierarchy, hierarchy-weights, priority, reclaimable, state, weight, " +
	"or a policy such as max-jobs"

// fields are the fields of a setting, those that end with a dot before a card or a resource.
var fields = append([]string{"cards.", "deservedCards.", "guaranteeCards.", "capability.", "deserved.", "guarantee.", "parent", pathField, weightsField,
	"priority", "reclaimable", "state", "weight"},
	Policies()...)

// The fields that place a queue where annotations make the tree.
var pathField, weightsField = policy.Short(index.PathKey), policy.Short(index.WeightsKey)

// Policies returns the names of the annotations that are policies, without the prefix. Each is a field of a setting.
func Policies() (names []string) {
	for _, key := range policy.Keys() {
		names = append(names, strings.TrimPrefix(key, policy.Prefix))
	}
	return names
}

// Fields returns the fields of a setting of a queue of the world, with the cards and the
// resources of its nodes, as far as "=".
func Fields(w *engine.World) (all []string) {
	cards, resources := map[string]bool{}, map[string]bool{}
	for _, node := range w.Nodes {
		for name := range node.Status.Allocatable {
			resources[string(name)] = true
		}
		for _, c := range card.OnNode(node, nil).Cards {
			cards[c.Name] = true
		}
	}
	for _, field := range fields {
		keys := map[string]bool{"": true}
		switch kind, dot := strings.CutSuffix(field, "."); {
		case dot && strings.HasSuffix(strings.ToLower(kind), "cards"):
			keys = cards
		case dot:
			keys = resources
		}
		for key := range keys {
			all = append(all, field+key+"=")
		}
	}
	return all
}

// Set changes a field of a queue in a world. A setting is written as
// "queue/research:cards.NVIDIA-H200=5". An empty value removes the field.
func Set(w *engine.World, setting string) error {
	name, field, value, ok := parse(setting)
	if !ok {
		return fmt.Errorf("%w %q: want %s", ErrSetting, setting, settingForm)
	}
	was := w.Queue(name)
	if was == nil {
		return fmt.Errorf("%w %q: %w", ErrSetting, setting, unknown("queue", name, w.QueueNames()))
	}
	queue := was.DeepCopy()
	if err := set(queue, field, value); err != nil {
		return fmt.Errorf("%w %q: %w", ErrSetting, setting, err)
	}
	w.SetQueue(queue)
	return nil
}

// MissingCard describes a setting of a card that no node of the world has. It is "" for
// all other settings. Such a setting is allowed, because nodes can come later.
func MissingCard(w *engine.World, labels card.Labels, attributes card.Attributes, setting string) string {
	_, field, value, _ := parse(setting)
	kind, name, _ := strings.Cut(field, ".")
	if !slices.Contains([]string{"cards", "deservedCards", "guaranteeCards"}, kind) || value == "" || value == "0" || len(w.Nodes) == 0 ||
		strings.HasPrefix(name, card.GroupPrefix) {
		return ""
	}
	known := map[string]bool{}
	for _, node := range w.Nodes {
		for _, c := range card.OnNode(node, labels).Cards {
			known[c.Name] = true
		}
	}
	for _, d := range attributes.Devices(w.Devices.Slices) {
		known[d.Card] = known[d.Card] || d.Card != ""
	}
	if known[name] {
		return ""
	}
	return fmt.Sprintf("no node has the card %q%s", name, index.DidYouMean(name, slices.Sorted(maps.Keys(known))))
}

// WithoutEffect describes a setting of a place in the tree that the configuration does not read, "" for all others.
func WithoutEffect(c *engine.Configuration, setting string) string {
	switch _, field, _, _ := parse(setting); {
	case !c.Hierarchy && slices.Contains([]string{"parent", pathField, weightsField}, field):
		return "has no effect: the queues are flat"
	case c.Annotated && field == "parent":
		return "has no effect: annotations make the tree (hierarchyFrom)"
	case !c.Annotated && (field == pathField || field == weightsField):
		return "has no effect: spec.parent makes the tree (hierarchyFrom)"
	}
	return ""
}

// unknown is the error about the name of an object that does not exist.
func unknown(kind, name string, known []string) error {
	return fmt.Errorf("there is no %s %q%s", kind, name, index.DidYouMean(name, known))
}

// parse splits a setting.
func parse(setting string) (queue, field, value string, ok bool) {
	target, assignment, ok := strings.Cut(setting, ":")
	queue, isQueue := strings.CutPrefix(target, "queue/")
	field, value, assigns := strings.Cut(assignment, "=") // a value such as after=30m has the sign as well
	return queue, field, value, ok && isQueue && assigns
}

func set(queue *scheduling.Queue, field, value string) error {
	if slices.Contains(Policies(), field) {
		return setPolicy(queue, policy.Prefix+field, value)
	}
	kind, key, _ := strings.Cut(field, ".")
	switch kind {
	case "cards":
		return setCard(queue, card.QuotaKey, key, value)
	case "deservedCards":
		return setCard(queue, card.DeservedKey, key, value)
	case "guaranteeCards":
		return setCard(queue, card.GuaranteeKey, key, value)
	case "capability":
		return setResource(&queue.Spec.Capability, key, value)
	case "deserved":
		return setResource(&queue.Spec.Deserved, key, value)
	case "guarantee":
		return setResource(&queue.Spec.Guarantee.Resource, key, value)
	case "parent":
		queue.Spec.Parent = value
		return nil
	case pathField, weightsField:
		annotate(queue, policy.Prefix+kind, value)
		return nil
	case "priority":
		return setWhole(&queue.Spec.Priority, value, 0, math.MinInt32)
	case "weight":
		return setWhole(&queue.Spec.Weight, value, 1, 1) // Volcano's default, and its least
	case "reclaimable":
		return setBool(&queue.Spec.Reclaimable, value)
	case "state":
		states := []scheduling.QueueState{scheduling.QueueStateOpen, scheduling.QueueStateClosed}
		if !slices.Contains(states, scheduling.QueueState(value)) {
			return fmt.Errorf("%q is not one of %v", value, states)
		}
		queue.Status.State = scheduling.QueueState(value)
		return nil
	}
	var known []string
	for _, f := range fields {
		known = append(known, strings.TrimSuffix(f, "."))
	}
	if hint := index.DidYouMean(kind, known); hint != "" {
		return fmt.Errorf("no field %q%s", field, hint)
	}
	return fmt.Errorf("no field %q: want %s", field, settingForm)
}

func setPolicy(queue *scheduling.Queue, key, value string) error {
	if problems := policy.Problems(map[string]string{key: value}); value != "" && len(problems) > 0 {
		return errors.New(problems[0].Reason)
	}
	annotate(queue, key, value)
	return nil
}

// annotate sets an annotation; an empty value removes it.
func annotate(queue *scheduling.Queue, key, value string) {
	if value == "" {
		delete(queue.Annotations, key)
		return
	}
	if queue.Annotations == nil {
		queue.Annotations = map[string]string{}
	}
	queue.Annotations[key] = value
}

// setWhole sets a whole number of at least least; an empty value is unset.
func setWhole(to *int32, value string, unset, least int64) error {
	number := unset
	if value != "" {
		var err error
		number, err = strconv.ParseInt(value, 10, 32)
		if err != nil || number < least {
			return fmt.Errorf("%q is not a whole number of at least %d", value, least)
		}
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

func setCard(queue *scheduling.Queue, annotation, name, value string) error {
	entries, problems := card.ParseQuota(queue.Annotations[annotation])
	if len(problems) > 0 && queue.Annotations[annotation] != "" {
		return fmt.Errorf("annotation %s: %s", annotation, problems[0])
	}
	all := map[string]json.Number{}
	for _, e := range entries {
		all[e.Name] = json.Number(fmt.Sprint(e.Cards))
	}
	if value == "" {
		delete(all, name)
	} else {
		all[name] = json.Number(value)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("%q is no number", value)
	}
	if _, problems := card.ParseQuota(string(text)); len(problems) > 0 {
		return problems[0]
	}
	if queue.Annotations == nil {
		queue.Annotations = map[string]string{}
	}
	queue.Annotations[annotation] = string(text)
	return nil
}

func setResource(list *v1.ResourceList, name, value string) error {
	if *list == nil {
		*list = v1.ResourceList{}
	}
	if value == "" {
		delete(*list, v1.ResourceName(name))
		return nil
	}
	quantity, err := resource.ParseQuantity(value)
	if err != nil {
		return fmt.Errorf("%q is no quantity", value)
	}
	(*list)[v1.ResourceName(name)] = quantity
	return nil
}
