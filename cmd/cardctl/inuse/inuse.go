// Package inuse finds which settings a cluster uses, and where. It reads objects and the scheduler's configuration as
// they are written; plugin/settings describes the settings.
package inuse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v2"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/settings"
)

// Use is a value of a setting, and what has it.
type Use struct {
	// By is the plugin of an argument, the name of a queue, or the kind of workloads.
	By    string `json:"by"`
	Value string `json:"value"`
	// From is where the value comes from: the queue that sets it, for a queue that inherits it, or "default". It is ""
	// where By sets it.
	From string `json:"from,omitempty"`
	// Objects is the number of workloads of the kind that have the value. A template counts as an object.
	Objects int `json:"objects,omitempty"`
}

// String describes the use in one line.
func (u Use) String() string {
	text := u.By + ": " + u.Value
	if u.Objects > 0 {
		text = fmt.Sprintf("%d of kind %s: %s", u.Objects, u.By, u.Value)
	}
	switch u.From {
	case "":
	case byDefault:
		text += " (default)"
	default:
		text += " (from queue " + u.From + ")"
	}
	return text
}

// byDefault is Use.From of an argument that is not given.
const byDefault = "default"

// OfArgument returns the value of an argument in the scheduler's configuration, or its default.
func OfArgument(s settings.Setting, c *engine.Configuration) []Use {
	given, set := c.Arguments[s.Name]
	if set {
		return []Use{{By: c.Plugin, Value: textOf(given)}}
	}

	value := cmp.Or(s.Default.Under(c.Plugin), strings.ReplaceAll(s.Default.Text.English, "`", ""))
	return []Use{{By: c.Plugin, Value: value, From: byDefault}}
}

// textOf writes the value of an argument: a text as it is, everything else as JSON.
func textOf(given any) string {
	if text, is := given.(string); is {
		return text
	}

	// Maps of a configuration can have keys of any type, which JSON does not allow.
	text, err := yaml.Marshal(given)
	if err == nil {
		text, err = k8syaml.YAMLToJSON(text)
	}
	if err != nil {
		return fmt.Sprint(given)
	}
	return string(text)
}

// OfQueues returns the values of an annotation of queues, parents first: where queues set it, and where queues inherit
// it. It does not return a queue in which no value is in force.
func OfQueues(s settings.Setting, world *engine.World, c *engine.Configuration) (uses []Use) {
	tree, _ := world.Tree(c)
	annotations := map[string]map[string]string{}
	for _, q := range world.Queues {
		annotations[q.Name] = q.Annotations
	}

	for q := range index.Queue(tree.Len()) {
		var names []string
		var path []map[string]string
		for _, level := range tree.Path(q) {
			names = append(names, tree.Name(level))
			path = append(path, annotations[tree.Name(level)])
		}
		if !tree.Rooted() { // flat queues inherit from the queue root alone
			names = append(names, index.RootName)
			path = append(path, annotations[index.RootName])
		}

		if text, set := path[0][s.Name]; set {
			uses = append(uses, Use{By: names[0], Value: strings.TrimSpace(text)})
		}
		for _, held := range policy.InForce(path) {
			inherited := held.Name == s.Name && held.Level > 0 && !held.Whole
			use := Use{By: names[0], Value: held.Text}
			if inherited {
				use.From = names[held.Level]
			}
			if inherited && !slices.Contains(uses, use) { // of several words, each is in force
				uses = append(uses, use)
			}
		}
	}

	return uses
}

// OfWorkloads returns the values of an annotation of workloads by kind, and how many objects have each.
func OfWorkloads(s settings.Setting, o *input.Objects) []Use {
	counts := map[Use]int{}
	for _, a := range o.Annotated() {
		text, set := a.Annotations[s.Name]
		if set && a.Kind != "Queue" {
			counts[Use{By: a.Kind, Value: strings.TrimSpace(text)}]++
		}
	}

	var uses []Use
	for use, n := range counts {
		use.Objects = n
		uses = append(uses, use)
	}
	slices.SortFunc(uses, func(a, b Use) int {
		return cmp.Or(strings.Compare(a.By, b.By), strings.Compare(a.Value, b.Value))
	})
	return uses
}
