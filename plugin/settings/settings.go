// Package settings describes all settings of the plugins: arguments in the scheduler's configuration, and annotations.
// Pages, cardctl and the admission policy follow from it. It reads no setting: index/policy, index/override, index/card
// and plugin/arguments do, and tests compare their names, values and defaults with the table.
package settings

import (
	"cmp"
	"slices"
	"strings"
)

// Prefix begins the names of all annotations of the table.
const Prefix = "volcano.sh/"

// Place is where a setting is written.
type Place string

// The places.
const (
	Argument Place = "argument" // of the plugin, in volcano-scheduler.conf
	Queue    Place = "queue"    // an annotation of a Queue
	Workload Place = "workload" // an annotation of a Pod, a Job, a PodGroup or a Deployment
)

// Places are all places, in the order of the reference.
var Places = []Place{Argument, Queue, Workload}

// Level says who needs a setting.
type Level string

// The levels.
const (
	Team      Level = "team"      // everybody with queues
	Common    Level = "common"    // many clusters, each for a reason
	Reference Level = "reference" // few clusters
	Recipe    Level = "recipe"    // a part of one larger arrangement
)

// Levels are all levels, in the order of pages and commands.
var Levels = []Level{Team, Common, Reference, Recipe}

// Stability says whether a later release may change a setting.
type Stability string

// The stabilities.
const (
	Alpha  Stability = "alpha"  // any release may change or remove it
	Beta   Stability = "beta"   // stays, or is renamed with an error that names the new name
	Stable Stability = "stable" // stays as it is
)

// Text is a text in both languages of the pages. Without Chinese, English has words of a configuration alone.
type Text struct{ English, Chinese string }

// words writes a choice between words of a configuration in Chinese.
var words = strings.NewReplacer("`, `", "`、`", "` or `", "` 或 `")

// In returns the text in Chinese or in English.
func (t Text) In(chinese bool) string {
	if chinese {
		return cmp.Or(t.Chinese, words.Replace(t.English))
	}
	return t.English
}

// Default is the value of a setting that is not set.
type Default struct {
	Value        string // as the parser reads it, "" if no value can be written
	CapacityCard string // under the name capacity-card, "" where it is Value
	Text         Text   // in place of Value, or in addition to it
}

// Setting is one argument or annotation.
type Setting struct {
	Name      string // of an annotation with Prefix
	Place     Place
	Objects   []string // of Workload: the kinds that have it
	Values    Text     // the valid values: the end of "… is not"
	Example   string   // a valid value that is not the default
	Pattern   string   // of annotations: the valid values in the syntax that RE2 and ECMAScript share, "" for any
	Content   *Schema  // of annotations with JSON: its schema
	Default   Default
	Inherits  bool // queues below have the value, too
	Windows   bool // a window of volcano.sh/override can set it
	Effect    Text
	Page      string // the page below docs/, and its heading
	Level     Level
	Stability Stability // "" for a setting of Volcano, with its meaning in Volcano
	Since     string    // the release
}

// Short returns the name without the prefix of annotations.
func (s Setting) Short() string { return strings.TrimPrefix(s.Name, Prefix) }

// All returns all settings, by place, level and name.
func All() []Setting {
	all := slices.Concat(arguments, queues, workloads)
	slices.SortStableFunc(all, func(a, b Setting) int {
		return cmp.Or(
			cmp.Compare(slices.Index(Places, a.Place), slices.Index(Places, b.Place)),
			cmp.Compare(slices.Index(Levels, a.Level), slices.Index(Levels, b.Level)),
			strings.Compare(a.Name, b.Name))
	})
	return all
}

// In returns the settings of a place, by level and name.
func In(place Place) []Setting {
	return slices.DeleteFunc(All(), func(s Setting) bool { return s.Place != place })
}

// Named returns the settings with a name, with or without the prefix of annotations. A name can have two places.
func Named(name string) []Setting {
	return slices.DeleteFunc(All(), func(s Setting) bool { return s.Name != name && s.Short() != name })
}

// In returns the default in words, in Chinese or in English.
func (d Default) In(chinese bool) string {
	value := ""
	switch {
	case d.CapacityCard != "" && chinese:
		value = "`capacity-card` 下为 `" + d.CapacityCard + "`，其他名字下为 `" + d.Value + "`"
	case d.CapacityCard != "":
		value = "`" + d.CapacityCard + "` under `capacity-card`, `" + d.Value + "` under the other names"
	case d.Value != "":
		value = "`" + d.Value + "`"
	}

	text := d.Text.In(chinese)
	if value == "" || text == "" {
		return value + text
	}
	separator := "; "
	if chinese {
		separator = "；"
	}
	return value + separator + text
}

// Under returns the default under the name of a plugin.
func (d Default) Under(plugin string) string {
	if plugin == "capacity-card" {
		return cmp.Or(d.CapacityCard, d.Value)
	}
	return d.Value
}
