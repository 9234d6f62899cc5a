// Package whatif changes clusters in memory and compares the outcomes.
package whatif

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// ErrSetting is the error for settings that cannot be parsed.
var ErrSetting = errors.New("bad setting")

// settingForm is the syntax of a setting.
const settingForm = "queue/NAME:FIELD=VALUE, where FIELD is cards.CARD, deservedCards.CARD, guaranteeCards.CARD, " +
	"capability.RESOURCE, deserved.RESOURCE, guarantee.RESOURCE, parent or state"

// Set changes a field of a queue in a world. A setting is written as
// "queue/research:cards.NVIDIA-H200=5". An empty value removes the field.
func Set(w *engine.World, setting string) error {
	name, field, value, ok := parse(setting)
	if !ok {
		return fmt.Errorf("%w %q: want %s", ErrSetting, setting, settingForm)
	}
	was := w.Queue(name)
	if was == nil {
		return fmt.Errorf("%w %q: there is no queue %q", ErrSetting, setting, name)
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
func MissingCard(w *engine.World, setting string) string {
	_, field, value, _ := parse(setting)
	kind, name, _ := strings.Cut(field, ".")
	if !slices.Contains([]string{"cards", "deservedCards", "guaranteeCards"}, kind) || value == "" || value == "0" || len(w.Nodes) == 0 {
		return ""
	}
	known := map[string]bool{}
	for _, node := range w.Nodes {
		for _, c := range card.Discover(node.Labels, node.Status.Allocatable).Cards {
			known[c.Name] = true
		}
	}
	if known[name] {
		return ""
	}
	text := fmt.Sprintf("no node has the card %q", name)
	if nearest := index.Nearest(name, slices.Sorted(maps.Keys(known))); nearest != "" {
		text += fmt.Sprintf("; did you mean %q?", nearest)
	}
	return text
}

// parse splits a setting.
func parse(setting string) (queue, field, value string, ok bool) {
	target, assignment, ok := strings.Cut(setting, ":")
	queue, isQueue := strings.CutPrefix(target, "queue/")
	at := strings.LastIndexByte(assignment, '=')
	if !ok || !isQueue || at < 0 {
		return "", "", "", false
	}
	return queue, assignment[:at], assignment[at+1:], true
}

func set(queue *scheduling.Queue, field, value string) error {
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
	case "state":
		states := []scheduling.QueueState{scheduling.QueueStateOpen, scheduling.QueueStateClosed}
		if !slices.Contains(states, scheduling.QueueState(value)) {
			return fmt.Errorf("%q is not one of %v", value, states)
		}
		queue.Status.State = scheduling.QueueState(value)
		return nil
	}
	return fmt.Errorf("no field %q: want %s", field, settingForm)
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

// RemoveNode removes a node from a world. New pods without a node replace its pods, as
// the controllers of their workloads would create them.
func RemoveNode(w *engine.World, name string) error {
	i := slices.IndexFunc(w.Nodes, func(n *v1.Node) bool { return n.Name == name })
	if i < 0 {
		return fmt.Errorf("there is no node %q", name)
	}
	w.Nodes = slices.Delete(slices.Clone(w.Nodes), i, i+1)
	w.Lose(name)
	return nil
}
