package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// command is a subcommand. Its flags are defined before they are parsed and read after.
type command struct {
	name, summary string
	define        func(flags *flag.FlagSet) (run func() error)
}

var commands = []command{
	{"image", "build images as OCI layouts", defineImage},
	{"unpack", "unpack an image into a directory and print its configuration", defineUnpack},
	{"sbom", "write the SBOM of a program", defineSBOM},
	{"licenses", "build the programs, and list their modules with the licenses of these", defineLicenses},
	{"charts", "assemble the Helm chart", defineCharts},
	{"release", "build everything that a release has", defineRelease},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) > 0 {
		for _, c := range commands {
			if c.name != arguments[0] {
				continue
			}
			flags := flag.NewFlagSet(c.name, flag.ExitOnError)
			run := c.define(flags)
			if err := flags.Parse(arguments[1:]); err != nil {
				return err
			}
			if flags.NArg() > 0 {
				return fmt.Errorf("%s: unexpected argument %s", c.name, flags.Arg(0))
			}
			return run()
		}
	}
	var names []string
	for _, c := range commands {
		names = append(names, fmt.Sprintf("  %-9s %s", c.name, c.summary))
	}
	return fmt.Errorf("name a command:\n%s", strings.Join(names, "\n"))
}
