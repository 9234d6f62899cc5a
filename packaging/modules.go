package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/google/licensecheck"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// dependency is a module of a program, with its license files. The standard library is std.
type dependency struct {
	kind          string // golang or npm, as in a package URL
	path, version string
	sum           string // h1:…, as in go.sum; empty for std and a module in the file system
	note          string // of an SBOM, for a module in the file system
	directory     string
	files         []string // of directory
	licenses      []string // SPDX identifiers, sorted
	notices       string   // the text of the files
}

// dependenciesOf returns the modules of a program, the standard library, and the embedded npm
// packages, in order. source is the directory of the repository.
func dependenciesOf(source string, info *debug.BuildInfo) ([]dependency, error) {
	std := &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}
	all, err := locate(source, append([]*debug.Module{std}, info.Deps...)...)
	if err != nil {
		return nil, err
	}

	if info.Path == repository+"/cmd/cardctl" {
		npm, err := embedded(filepath.Join(source, "cmd/cardctl/serve"))
		if err != nil {
			return nil, err
		}
		all = append(all, npm...)
	}

	return union(all), nil
}

// union returns dependencies each once and in order.
func union(several ...[]dependency) []dependency {
	all := slices.Concat(several...)
	slices.SortFunc(all, func(a, b dependency) int { return cmp.Compare(a.url(), b.url()) })

	return slices.CompactFunc(all, func(a, b dependency) bool { return a.url() == b.url() })
}

// url is the package URL, which names a dependency in an SBOM.
func (d *dependency) url() string { return "pkg:" + d.kind + "/" + d.path + "@" + d.version }

// embedded returns the npm packages in the pages of cardctl. "make assets" copied their files into
// the sources.
func embedded(pages string) ([]dependency, error) {
	text, err := os.ReadFile(filepath.Join(pages, "assets/package.json"))
	if err != nil {
		return nil, err
	}

	var manifest struct{ Dependencies map[string]string }
	err = json.Unmarshal(text, &manifest)
	if err != nil {
		return nil, fmt.Errorf("reading the npm packages: %w", err)
	}

	var all []dependency
	for name, version := range manifest.Dependencies {
		d := dependency{
			kind:      "npm",
			path:      name,
			version:   version,
			directory: filepath.Join(pages, "page/static"),
			files:     []string{"LICENSE." + name},
		}
		err := d.readLicenses()
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}

	return all, nil
}

// locate finds the directories of modules that a program records, and their licenses.
func locate(source string, modules ...*debug.Module) ([]dependency, error) {
	command := exec.Command("go", "env", "GOROOT", "GOMODCACHE")
	command.Dir = source // it selects the release of Go
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("looking for Go and the module cache: %w", err)
	}

	directories := strings.Split(string(output), "\n")
	goRoot, cache := directories[0], directories[1]

	var all []dependency
	for _, m := range modules {
		d := dependency{kind: "golang", path: m.Path, version: m.Version, sum: m.Sum, directory: goRoot}
		switch {
		case m.Replace != nil && modfile.IsDirectoryPath(m.Replace.Path):
			d.replaceBy(source, m)
		case m.Path != "std":
			err := d.findInCache(cache, m)
			if err != nil {
				return nil, err
			}
		}

		err := d.readLicenses()
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}

	return all, nil
}

// replaceBy describes a module that a directory replaces.
func (d *dependency) replaceBy(source string, m *debug.Module) {
	d.version = "devel"
	d.sum = ""
	d.directory = m.Replace.Path
	if !filepath.IsAbs(d.directory) { // the path of a checkout of Volcano (VOLCANO_SRC) is absolute
		d.directory = filepath.Join(source, d.directory)
	}
	d.note = "The build replaces version " + m.Version + " by the directory " + m.Replace.Path + "."
}

// findInCache finds the directory of a module in the module cache.
func (d *dependency) findInCache(cache string, m *debug.Module) error {
	if m.Replace != nil {
		d.path = m.Replace.Path
		d.version = m.Replace.Version
		d.sum = m.Replace.Sum
	}

	path, err := module.EscapePath(d.path)
	if err != nil {
		return err
	}

	version, err := module.EscapeVersion(d.version)
	if err != nil {
		return err
	}

	d.directory = filepath.Join(cache, path+"@"+version)

	return nil
}

// licenseFile matches the names of license files. LICENSE.docs is for documentation, which no
// program contains.
var (
	licenseFile   = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice)([.-].*)?$`)
	noLicenseFile = regexp.MustCompile(`\.(go|docs)$`)
)

// ofDocumentation are licenses that a license file has for the documentation alone, by module.
var ofDocumentation = map[string]string{"github.com/modelcontextprotocol/go-sdk": "CC-BY-4.0"}

// leastCoverage is the part of a license file, in percent, that must be known text. The rest
// are names and years.
const leastCoverage = 75

// readLicenses finds the license files, unless they are known. It reads them, and names the
// licenses in them.
func (d *dependency) readLicenses() error {
	if d.files == nil {
		err := d.findLicenseFiles()
		if err != nil {
			return err
		}
	}

	for _, name := range d.files {
		text, err := os.ReadFile(filepath.Join(d.directory, name))
		if err != nil {
			return err
		}

		d.notices += fmt.Sprintf("==== %s %s: %s\n\n%s\n\n", d.path, d.version, name, strings.TrimSpace(string(text)))
		coverage := licensecheck.Scan(text)
		if coverage.Percent < leastCoverage {
			continue
		}

		for _, match := range coverage.Match {
			if match.ID != ofDocumentation[d.path] {
				d.licenses = append(d.licenses, match.ID)
			}
		}
	}
	slices.Sort(d.licenses)
	d.licenses = slices.Compact(d.licenses)

	return nil
}

// findLicenseFiles lists the license files in the directory.
func (d *dependency) findLicenseFiles() error {
	entries, err := os.ReadDir(d.directory)
	if err != nil {
		return fmt.Errorf("looking for the licenses of %s: %w", d.url(), err)
	}

	for _, entry := range entries {
		isLicense := licenseFile.MatchString(entry.Name()) && !noLicenseFile.MatchString(entry.Name())
		if isLicense && !entry.IsDir() {
			d.files = append(d.files, entry.Name())
		}
	}

	return nil
}

// notices returns the license files of dependencies. Every copy of a program must include them.
func notices(dependencies []dependency) []byte {
	var all []byte
	for _, d := range dependencies {
		all = append(all, d.notices...)
	}
	return all
}

// allowed are the licenses that a dependency can have; docs/dev/DEPENDENCIES.md says why.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// checkLicenses returns the problems of the licenses of dependencies.
func checkLicenses(dependencies []dependency) error {
	var problems []error
	for _, d := range dependencies {
		if len(d.licenses) == 0 {
			problems = append(problems, fmt.Errorf("%s %s has no license that is known", d.path, d.version))
		}
		for _, license := range d.licenses {
			if !slices.Contains(allowed, license) {
				problems = append(problems, fmt.Errorf("%s %s has the license %s, which is not among the allowed ones",
					d.path, d.version, license))
			}
		}
	}

	return errors.Join(problems...)
}

func printLicenses(o options) error {
	var all []dependency
	for _, p := range programs {
		built, err := o.build(p, []platform{{"linux", runtime.GOARCH}})
		if err != nil {
			return err
		}

		for _, b := range built {
			all = union(all, b.dependencies)
		}
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, d := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\n", d.path, d.version, strings.Join(d.licenses, ", "))
	}
	err := table.Flush()
	if err != nil {
		return err
	}

	return checkLicenses(all)
}
