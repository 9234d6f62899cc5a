package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
)

func defineLicenses(flags *flag.FlagSet) func() error {
	source := flags.String("source", ".", "the `directory` of the repository")
	directory := flags.String("binaries", "bin/binaries", "the `directory` of the programs")
	return func() error {
		var paths []string
		for _, p := range programs {
			b, err := build(*source, p, platform{"linux", runtime.GOARCH}, *directory)
			if err != nil {
				return err
			}
			paths = append(paths, b.path)
		}
		dependencies, err := dependenciesOf(*source, paths...)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		for _, d := range dependencies {
			fmt.Fprintf(table, "%s\t%s\t%s\n", d.path, d.version, strings.Join(d.licenses, ", "))
		}
		if err := table.Flush(); err != nil {
			return err
		}
		return checkLicenses(dependencies)
	}
}
