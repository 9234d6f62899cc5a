package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/google/pprof/driver"
)

// top writes the page of a profile: the command that made it, and the functions
// with the most of it below them.
func top(path, command string) error {
	sample := "cpu"
	if strings.HasSuffix(path, "heap") {
		sample = "alloc_space"
	}
	flags := arguments{flag.NewFlagSet("pprof", flag.ContinueOnError), []string{
		"-top", "-cum", "-nodecount=40", "-sample_index=" + sample, "-output=" + path + ".txt", path + ".pb.gz",
	}}
	if err := driver.PProf(&driver.Options{Flagset: flags, UI: silent{}}); err != nil {
		return err
	}
	table, err := os.ReadFile(path + ".txt")
	if err != nil {
		return err
	}
	return os.WriteFile(path+".txt", fmt.Appendf(nil, "%s\n\n%s", command, table), 0o644)
}

// arguments is a command line for pprof.
type arguments struct {
	*flag.FlagSet
	given []string
}

func (a arguments) StringList(name, value, usage string) *[]*string {
	return &[]*string{a.String(name, value, usage)}
}
func (arguments) ExtraUsage() string   { return "" }
func (arguments) AddExtraUsage(string) {}
func (a arguments) Parse(func()) []string {
	if a.FlagSet.Parse(a.given) != nil {
		return nil
	}
	return a.Args()
}

// silent is a user interface that prints nothing.
type silent struct{}

func (silent) ReadLine(string) (string, error)     { return "", nil }
func (silent) Print(...any)                        {}
func (silent) PrintErr(...any)                     {}
func (silent) IsTerminal() bool                    { return false }
func (silent) WantBrowser() bool                   { return false }
func (silent) SetAutoComplete(func(string) string) {}
