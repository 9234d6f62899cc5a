package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/inuse"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/settings"
)

// setting is a setting as explain prints it.
type setting struct {
	Name      string             `json:"name"`
	Place     settings.Place     `json:"place"`
	Kinds     []string           `json:"kinds,omitempty"` // of an annotation: the kinds of objects that have it
	Values    string             `json:"values"`
	Example   string             `json:"example"`
	Default   string             `json:"default"`
	Inherited bool               `json:"inherited,omitempty"`
	Windows   bool               `json:"windows,omitempty"`
	Effect    string             `json:"effect"`
	Page      string             `json:"page"`
	Level     settings.Level     `json:"level"`
	Stability settings.Stability `json:"stability,omitempty"`
	Since     string             `json:"since"`
	Here      []inuse.Use        `json:"here,omitempty"` // nil where the command reads no input
}

// settingOf returns the description of a setting that explain prints.
func settingOf(s settings.Setting) setting {
	plain := strings.NewReplacer("`", "")
	described := setting{
		Name: s.Name, Place: s.Place, Kinds: s.Objects, Values: plain.Replace(s.Values.English), Example: s.Example,
		Default: plain.Replace(s.Default.In(false)), Inherited: s.Inherits, Windows: s.Windows,
		Effect: plain.Replace(s.Effect.English), Page: "docs/" + s.Page,
		Level: s.Level, Stability: s.Stability, Since: s.Since,
	}
	if s.Place == settings.Queue {
		described.Kinds = []string{"Queue"}
	}
	return described
}

// explainSetting lists all settings. With a name, it describes the settings of that name, with each use in the input.
func (s *source) explainSetting(ctx context.Context, name string) (*result, error) {
	if name == "" {
		return listSettings(), nil
	}
	named := settings.Named(name)
	if len(named) == 0 {
		return nil, fmt.Errorf("no setting %q%s", name, index.DidYouMean(name, settingNames(name)))
	}

	// The input gives each use before a world is made of it.
	objects, configuration, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var shown []setting
	for _, each := range named {
		described := settingOf(each)
		if each.Place == settings.Workload {
			described.Here = inuse.OfWorkloads(each, objects)
		}
		shown = append(shown, described)
	}

	if err := s.addUses(named, shown, objects, configuration); err != nil {
		return nil, err
	}
	text := describeEach(shown, widthOf(s.streams.Out), (*description).setting)
	return &result{text: text, data: listOf("SettingList", shown)}, nil
}

// addUses adds the uses of arguments and of annotations of queues.
func (s *source) addUses(
	named []settings.Setting, shown []setting, objects *input.Objects, c *engine.Configuration,
) error {
	world, err := engine.Build(objects)
	if err != nil {
		return err
	}
	s.warn(objects)

	for i, each := range named {
		switch each.Place {
		case settings.Argument:
			shown[i].Here = inuse.OfArgument(each, c)
		case settings.Queue:
			shown[i].Here = inuse.OfQueues(each, world, c)
		}
	}
	return nil
}

// settingNames returns the names of all settings, with the prefix of annotations if a name has it.
func settingNames(like string) (names []string) {
	for _, each := range settings.All() {
		name := each.Short()
		if strings.HasPrefix(like, settings.Prefix) {
			name = each.Name
		}
		names = append(names, name)
	}
	return names
}

// listSettings lists all settings by level.
func listSettings() *result {
	t := tableOf("LEVEL", "NAME", "PLACE", "DEFAULT", "STABILITY", "SINCE", "(EFFECT)")
	t.columns[0].once = true

	var all []setting
	for _, level := range settings.Levels {
		for _, each := range settings.All() {
			if each.Level != level {
				continue
			}

			s := settingOf(each)
			all = append(all, s)
			t.add(s.Level, s.Name, s.Place, s.Default, s.Stability, s.Since, s.Effect)
		}
	}
	return &result{rows: t, data: listOf("SettingList", all)}
}

// setting prints one setting.
func (d *description) setting(s setting) {
	place := "argument of the plugin, in volcano-scheduler.conf"
	if s.Place != settings.Argument {
		place = "annotation of " + strings.Join(s.Kinds, ", ")
	}
	if s.Inherited {
		place += "; queues below have the value, too"
	}
	if s.Windows {
		place += "; a window can set it"
	}

	var here []string
	for _, use := range s.Here {
		here = append(here, use.String())
	}
	if len(here) == 0 {
		here = []string{"nothing sets it"}
	}

	d.line("Setting:", s.Name)
	d.line("Place:", place)
	d.line("Values:", s.Values)
	d.line("Example:", s.Example)
	d.line("Default:", s.Default)
	d.line("Effect:", s.Effect)
	d.line("Level:", string(s.Level))
	d.line("Stability:", cmp.Or(string(s.Stability), "Volcano's own")+", since "+s.Since)
	d.line("More:", s.Page)
	d.list("Here:", here)
}
