package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
)

func defineLicenses(flags *flag.FlagSet) func() error {
	source := flags.String("source", ".", "the `directory` of the repository")
	of := flags.String("binaries", "", "the programs, `paths` with commas between them")
	return func() error {
		dependencies, err := dependenciesOf(*source, strings.Split(*of, ",")...)
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
