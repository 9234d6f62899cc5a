// Command packaging makes the files of a release: images, SBOMs, charts, archives,
// manifests and checksums. The same commit and the same Go make the same bytes.
//
// It is a separate module, so that the scheduler does not depend on its requirements.
// Makefile calls it in the root of the repository.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

// options are the flags of all commands.
type options struct {
	source, binaries, output, version string
	programs, platforms               list
}

// list is a flag with commas between its values.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(text string) error {
	*l = strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
	return nil
}

// has reports whether a value is selected. An empty list selects all.
func (l list) has(value string) bool { return len(l) == 0 || slices.Contains(l, value) }

var commands = []struct {
	name, summary, output string // output is where it writes by default
	run                   func(options) error
}{
	{"image", "build images as OCI layouts", "bin/images", buildImages},
	{"licenses", "build the programs, and list their modules with the licenses of these", "", printLicenses},
	{"charts", "assemble the Helm chart", "bin/charts", printChart},
	{"notes", "print the notes of a release", "", printNotes},
	{"release", "build everything that a release has", "bin/release", makeRelease},
}

func main() {
	err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	var names strings.Builder
	for _, c := range commands {
		if len(arguments) == 0 || c.name != arguments[0] {
			fmt.Fprintf(&names, "\n  %-9s %s", c.name, c.summary)
			continue
		}

		var o options
		flags := flag.NewFlagSet(c.name, flag.ExitOnError)
		flags.StringVar(&o.source, "source", ".",
			"the `directory` of the repository; of a release, a clean clone with its tag")
		flags.StringVar(&o.binaries, "binaries", "bin/binaries", "the `directory` of the programs")
		flags.StringVar(&o.output, "o", c.output, "the `directory` to write to")
		flags.StringVar(&o.version, "version", "", "the release, for example v0.1.0")
		flags.Var(&o.programs, "programs", "only these programs, with commas between them")
		flags.Var(&o.platforms, "platforms", "only these platforms, with commas between them")

		err := flags.Parse(arguments[1:])
		if err != nil {
			return err
		}
		if flags.NArg() > 0 {
			return fmt.Errorf("%s: unexpected argument %s", c.name, flags.Arg(0))
		}
		return c.run(o)
	}

	return fmt.Errorf("name a command:%s", names.String())
}
