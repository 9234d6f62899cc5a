// Package samples says in which packages a program spends its time, and removes from profiles what depends on the
// machine.
package samples

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Samples that are in no module.
const (
	collector = "Go: collector" // of memory, in the background
	library   = "Go: the rest"
)

// Package has the parts of a profile that belong to a package, from 0 to 1.
type Package struct {
	Name  string
	Own   float64 // it, and functions of Go that it calls
	Below float64 // it, and all that it calls
}

// Packages returns the packages of a profile by the last of its values, those with the largest own part first.
func Packages(p *profile.Profile) []Package {
	byName := map[string]*Package{}
	at := func(name string) *Package {
		if byName[name] == nil {
			byName[name] = &Package{Name: name}
		}
		return byName[name]
	}

	total := 0.0
	for _, sample := range p.Sample {
		value := float64(sample.Value[len(sample.Value)-1])
		total += value

		stack := packages(sample)
		at(stack[0]).Own += value
		slices.Sort(stack)
		for _, name := range slices.Compact(stack) {
			at(name).Below += value
		}
	}

	all := make([]Package, 0, len(byName))
	for _, one := range byName {
		all = append(all, Package{one.Name, one.Own / total, one.Below / total})
	}
	slices.SortFunc(all, func(a, b Package) int {
		return cmp.Or(cmp.Compare(b.Own, a.Own), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// packages returns the packages of modules on the stack of a sample, the innermost first. It returns one name of Go if
// there is none.
func packages(sample *profile.Sample) (names []string) {
	rest := library
	for _, location := range sample.Location {
		for _, line := range location.Line {
			name := packageOf(line.Function.Name)
			domain, _, _ := strings.Cut(name, "/")

			switch {
			case strings.Contains(domain, ".") && !strings.Contains(domain, ":"): // type:.hash.m.io/p.T is of Go
				names = append(names, name)
			case strings.HasPrefix(line.Function.Name, "runtime.gcBgMarkWorker"),
				strings.HasPrefix(line.Function.Name, "runtime.bgs"): // bgsweep, bgscavenge
				rest = collector
			}
		}
	}

	if len(names) == 0 {
		return []string{rest}
	}
	return names
}

// packageOf returns the import path of the package of a function, such as "k8s.io/api/core/v1" of
// "k8s.io/api/core/v1.(*Pod).DeepCopy".
func packageOf(function string) string {
	function, _, _ = strings.Cut(function, "[") // type arguments have slashes, too

	directory, last := "", function
	if slash := strings.LastIndexByte(function, '/'); slash >= 0 {
		directory, last = function[:slash+1], function[slash+1:]
	}
	last, _, _ = strings.Cut(last, ".")
	return directory + last
}

// Table formats the packages with at least a part of their own.
func Table(all []Package, least float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8s %8s  %s\n", "own", "below", "package")
	for _, one := range all {
		if one.Own >= least {
			fmt.Fprintf(&b, "%6.1f %% %6.1f %%  %s\n", 100*one.Own, 100*one.Below, one.Name)
		}
	}
	return b.String()
}

// Anonymize removes the paths and the comments of the machine.
func Anonymize(p *profile.Profile) {
	p.Comments = nil
	for _, m := range p.Mapping {
		m.File = filepath.Base(m.File)
	}
	for _, f := range p.Function {
		f.Filename = relative(f.Filename)
	}
}

// relative returns the name of a source file without the part that depends on the machine.
func relative(file string) string {
	for _, root := range []string{"/pkg/mod/", "/go/src/"} {
		if _, after, ok := strings.Cut(file, root); ok {
			return after
		}
	}

	if working, err := os.Getwd(); err == nil {
		return strings.TrimPrefix(file, working+"/")
	}
	return file
}
