package volcano

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gopkg.in/yaml.v2"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// configuration is the scheduler configuration of Volcano's CI with a change.
type configuration struct {
	name, title string
	change      func(*schedulerConf) error
}

// schedulerConf has the fields of a scheduler configuration that change here. Plugins keep their other fields.
type schedulerConf struct {
	Actions string `yaml:"actions"`
	Tiers   []tier `yaml:"tiers"`
}

type tier struct {
	Plugins []yaml.MapSlice `yaml:"plugins"`
}

var configurations = []configuration{
	{"proportion", "Volcano's CI: proportion", func(*schedulerConf) error { return nil }},
	{"capacity", "capacity in its place", func(c *schedulerConf) error {
		return c.replaceProportion(yaml.MapSlice{{Key: "name", Value: "capacity"}})
	}},
	{"capacity-tree", "capacity with a tree", func(c *schedulerConf) error {
		return c.replaceProportion(yaml.MapSlice{
			{Key: "name", Value: "capacity"},
			{Key: "enableHierarchy", Value: true},
		})
	}},
	{"capacity-first-tier", "capacity in the first tier", func(c *schedulerConf) error {
		err := c.removeProportion()
		if err != nil {
			return err
		}

		c.Tiers[0].Plugins = append(c.Tiers[0].Plugins, yaml.MapSlice{{Key: "name", Value: "capacity"}})
		return nil
	}},
}

// text returns the configuration as the scheduler reads it.
func (c configuration) text() (string, error) {
	chart, err := controlplane.VolcanoChart()
	if err != nil {
		return "", err
	}

	ci, err := os.ReadFile(filepath.Join(chart, "config", schedulerConfFile))
	if err != nil {
		return "", err
	}

	var conf schedulerConf
	err = yaml.UnmarshalStrict(ci, &conf)
	if err != nil {
		return "", fmt.Errorf("reading %s of Volcano's chart: %w", schedulerConfFile, err)
	}

	err = c.change(&conf)
	if err != nil {
		return "", err
	}

	text, err := yaml.Marshal(conf)
	return string(text), err
}

// proportion finds the plugin.
func (c *schedulerConf) proportion() (tier, plugin int, err error) {
	for i := range c.Tiers {
		for j, p := range c.Tiers[i].Plugins {
			if slices.Contains(p, yaml.MapItem{Key: "name", Value: "proportion"}) {
				return i, j, nil
			}
		}
	}

	return 0, 0, fmt.Errorf("%s of Volcano's chart does not have proportion", schedulerConfFile)
}

func (c *schedulerConf) replaceProportion(plugin yaml.MapSlice) error {
	i, j, err := c.proportion()
	if err == nil {
		c.Tiers[i].Plugins[j] = plugin
	}
	return err
}

func (c *schedulerConf) removeProportion() error {
	i, j, err := c.proportion()
	if err == nil {
		c.Tiers[i].Plugins = slices.Delete(c.Tiers[i].Plugins, j, j+1)
	}
	return err
}
