package chaos

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/framework"
)

// Config is the configuration of the scheduler, and how controllers and nodes treat evicted pods.
type Config struct {
	Plugin     string // the quota plugin
	Tree       bool   // queues form a tree
	Arguments  framework.Arguments
	Actions    []string
	GangSpares bool // gang spares the minimum of a job from preemption
	GangGives  bool // gang does not spare it from reclaim
	Grace      int  // cycles for which an evicted pod terminates, beyond the first
	Eager      bool // controllers replace a pod as soon as it terminates
	Topology   bool // preempt is aware of topology: it simulates
	Order      int  // which node comes first
}

// clone returns an independent copy.
func (c Config) clone() Config {
	c.Arguments = maps.Clone(c.Arguments)
	c.Actions = slices.Clone(c.Actions)
	return c
}

// Set changes settings, which are words of the command config.
func (c *Config) Set(settings ...string) error {
	w := &words{command: "config", rest: settings}

	w.each(func(key, value string) bool {
		switch key {
		case "plugin":
			c.Plugin = value
		case "tree":
			c.Tree = w.flag(value)
		case "actions":
			c.Actions = slices.DeleteFunc(strings.Split(value, ","), func(name string) bool { return name == none })
		case "gang-spares":
			c.GangSpares = w.flag(value)
		case "gang-gives":
			c.GangGives = w.flag(value)
		case "terminate":
			c.Grace = int(w.number(value)) - 1
		case "eager":
			c.Eager = w.flag(value)
		case "order":
			c.Order = int(w.number(value))
		case "topology-aware":
			c.Topology = w.flag(value)
		default:
			if !strings.HasPrefix(key, "$") { // a variable of a script
				c.argue(key, value)
			}
		}
		return true
	})

	return w.err
}

// argue sets an argument of the plugin. Numbers, booleans, lists and objects are written as in JSON.
func (c *Config) argue(key, text string) {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		value = text
	}

	if n, is := value.(float64); is && n == math.Trunc(n) {
		value = int(n)
	}

	c.Arguments = maps.Clone(c.Arguments)
	if c.Arguments == nil {
		c.Arguments = framework.Arguments{}
	}
	c.Arguments[key] = value
}

// String is the command that makes the configuration.
func (c Config) String() string {
	b := &strings.Builder{}
	b.WriteString("config" + field("plugin", c.Plugin))
	if c.Tree {
		b.WriteString(" tree")
	}

	b.WriteString(field("actions", cmp.Or(strings.Join(c.Actions, ","), none)))

	for _, f := range []struct {
		name string
		on   bool
	}{{"gang-spares", c.GangSpares}, {"gang-gives", c.GangGives}, {"eager", c.Eager}, {"topology-aware", c.Topology}} {
		if f.on {
			b.WriteString(" " + f.name)
		}
	}

	if c.Order > 0 {
		b.WriteString(field("order", strconv.Itoa(c.Order)))
	}
	if c.Grace > 0 {
		b.WriteString(field("terminate", strconv.Itoa(c.Grace+1)))
	}

	for _, key := range slices.Sorted(maps.Keys(c.Arguments)) {
		text := fmt.Sprint(c.Arguments[key])
		switch value := c.Arguments[key].(type) {
		case map[string]any, []any:
			own, _ := json.Marshal(value)
			text = string(own)
		}

		b.WriteString(field(key, text))
	}

	return b.String()
}
