// Package whatif changes clusters in memory and compares the outcomes.
package whatif

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// ErrSetting is the error for settings that cannot be parsed.
var ErrSetting = errors.New("bad setting")

// Fields returns the fields of a setting of a queue of the world, with the cards and the resources of its nodes, as far
// as "=".
func Fields(w *engine.World) (all []string) {
	cards := sets.New[string]()
	resources := sets.New[string]()
	for _, node := range w.Nodes {
		for name := range node.Status.Allocatable {
			resources.Insert(string(name))
		}
		for _, c := range card.OnNode(node, nil).Cards {
			cards.Insert(c.Name)
		}
	}

	for _, name := range fieldNames() {
		keys := sets.New("")
		switch kind, dot := strings.CutSuffix(name, "."); {
		case dot && cardFields.Has(kind):
			keys = cards
		case dot:
			keys = resources
		}
		for key := range keys {
			all = append(all, name+key+"=")
		}
	}
	return all
}

// Set changes a field of a queue in a world. A setting is written as "queue/research:cards.NVIDIA-H200=5". An empty
// value removes the field.
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
	queue.Generation++ // the plugin reads the annotations again
	w.Queues[slices.Index(w.Queues, was)] = queue
	return nil
}

// parse splits a setting. The first sign of equality counts: a value such as after=30m has one as well.
func parse(setting string) (queue, field, value string, ok bool) {
	target, assignment, ok := strings.Cut(setting, ":")
	queue, isQueue := strings.CutPrefix(target, "queue/")
	field, value, assigns := strings.Cut(assignment, "=")
	return queue, field, value, ok && isQueue && assigns
}

// MissingCard describes a setting of a card that no node of the world has. It is "" for all other settings. Such a
// setting is allowed, because nodes can come later.
func MissingCard(w *engine.World, labels card.Labels, attributes card.Attributes, setting string) string {
	_, field, value, _ := parse(setting)
	kind, name, _ := strings.Cut(field, ".")
	isCard := cardFields.Has(kind) && !strings.HasPrefix(name, card.GroupPrefix)
	if !isCard || value == "" || value == "0" || len(w.Nodes) == 0 {
		return ""
	}

	known := sets.New[string]()
	for _, node := range w.Nodes {
		for _, c := range card.OnNode(node, labels).Cards {
			known.Insert(c.Name)
		}
	}
	for _, d := range attributes.Devices(w.Devices.Slices) {
		known.Insert(d.Card)
	}
	known.Delete("") // a device without a name

	if known.Has(name) {
		return ""
	}
	return fmt.Sprintf("no node has the card %q%s", name, index.DidYouMean(name, sets.List(known)))
}

// WithoutEffect describes a setting of a place in the tree that the configuration does not read, "" for all others.
func WithoutEffect(c *engine.Configuration, setting string) string {
	_, field, _, _ := parse(setting)
	byAnnotation := field == pathField || field == weightsField
	switch {
	case !c.Hierarchy && (byAnnotation || field == "parent"):
		return "has no effect: the queues are flat"
	case c.Annotated && field == "parent":
		return "has no effect: annotations make the tree (hierarchyFrom)"
	case !c.Annotated && byAnnotation:
		return "has no effect: spec.parent makes the tree (hierarchyFrom)"
	}
	return ""
}

// unknown is the error about the name of an object that does not exist.
func unknown(kind, name string, known []string) error {
	return fmt.Errorf("there is no %s %q%s", kind, name, index.DidYouMean(name, known))
}
