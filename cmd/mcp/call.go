package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// mostValue bounds an argument that is no manifest, in bytes. A name has at most 253, a selector several.
const mostValue = 1000

// mostManifests bounds the manifests of a call, in bytes.
const mostManifests = 1_000_000

// call is a run of cardctl. What an agent sends becomes the value of a flag, a name behind "--", or standard input, and
// never a flag or a command.
type call struct {
	command  string
	flags    []string // each --name=value
	names    []string
	stdin    string
	narrower string // how to ask for less
	problem  error  // the first argument that is refused
}

func newCall(command, narrower string) *call { return &call{command: command, narrower: narrower} }

// words returns the arguments of cardctl. Of a flag that is given twice, the last one counts.
func (c *call) words(common []string) []string {
	ours := []string{"--quiet", "--output=json"}
	return slices.Concat([]string{c.command}, common, ours, c.flags, []string{"--"}, c.names)
}

// flag adds a flag with a value, "" for none.
func (c *call) flag(name, value string) *call {
	if value != "" && c.accepts(name, value) {
		c.flags = append(c.flags, "--"+name+"="+value)
	}
	return c
}

// each adds a flag for each of several values.
func (c *call) each(name string, values []string) *call {
	for _, value := range values {
		c.flag(name, value)
	}
	return c
}

// days adds a number of days, 0 for the default.
func (c *call) days(n int) *call {
	if n != 0 {
		c.flags = append(c.flags, "--days="+strconv.Itoa(n))
	}
	return c
}

// all adds the flag that asks for what does not change, too.
func (c *call) all(is bool) *call {
	if is {
		c.flags = append(c.flags, "--all")
	}
	return c
}

// queue adds the name of a queue, "" for all.
func (c *call) queue(name string) *call {
	if name != "" && c.accepts("queue", name) {
		c.names = append(c.names, name)
	}
	return c
}

// about adds the kind and the name of the only object to explain, "" for none.
func (c *call) about(kind, name string) *call {
	switch {
	case name == "" || !c.accepts(kind, name):
	case len(c.names) > 0:
		c.refuse(fmt.Errorf("%s and %s: explain takes one of job, pod, queue and setting", c.names[0], kind))
	default:
		c.names = append(c.names, kind, name)
	}
	return c
}

// manifests passes manifests on standard input, which the value "-" of a flag stands for. "" are none.
func (c *call) manifests(flag, text string) *call {
	switch {
	case text == "":
	case len(text) > mostManifests:
		c.refuse(fmt.Errorf("manifests: %d bytes, more than %d", len(text), mostManifests))
	default:
		c.flags = append(c.flags, "--"+flag+"=-")
		c.stdin = text
	}
	return c
}

// accepts reports whether cardctl can get a value as an argument. cardctl checks the name itself.
func (c *call) accepts(argument, value string) bool {
	switch {
	case strings.HasPrefix(value, "-"):
		c.refuse(fmt.Errorf("%s: %q begins with \"-\", as flags do", argument, value))
	case len(value) > mostValue:
		c.refuse(fmt.Errorf("%s: %d bytes, more than %d", argument, len(value), mostValue))
	case strings.ContainsFunc(value, unicode.IsControl):
		c.refuse(fmt.Errorf("%s: %q has a control character", argument, value))
	default:
		return true
	}
	return false
}

func (c *call) refuse(err error) {
	if c.problem == nil {
		c.problem = err
	}
}
