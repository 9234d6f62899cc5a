package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/licensecheck"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// dependency is a module of a program, with its license files. The standard library is std.
type dependency struct {
	kind          string // golang or npm, as in a package URL
	path, version string
	sum           string // h1:…, as in go.sum; empty for std and a module in the file system
	directory     string
	files         []string // of directory
	licenses      []string // SPDX identifiers, sorted
}

// dependenciesOf returns the modules of programs, the standard library, and the npm packages
// whose files are embedded, each once and in order. source is the directory of the repository.
func dependenciesOf(source string, paths ...string) ([]dependency, error) {
	command := exec.Command("go", "env", "GOROOT", "GOMODCACHE")
	command.Dir = source // which selects the release of Go
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("looking for Go and the module cache: %w", err)
	}
	directories := strings.Split(string(output), "\n")
	goroot, cache := directories[0], directories[1]
	var all []dependency
	for _, path := range paths {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, err
		}
		all = append(all, dependency{kind: "golang", path: "std", version: strings.TrimPrefix(info.GoVersion, "go"), directory: goroot})
		for _, m := range info.Deps {
			d, err := locate(source, cache, m)
			if err != nil {
				return nil, err
			}
			all = append(all, d)
		}
		npm, err := embedded(source, info.Path)
		if err != nil {
			return nil, err
		}
		all = append(all, npm...)
	}
	slices.SortFunc(all, func(a, b dependency) int { return strings.Compare(a.url(), b.url()) })
	all = slices.CompactFunc(all, func(a, b dependency) bool { return a.url() == b.url() })
	for i := range all {
		if err := all[i].readLicenses(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// url is the package URL, which names a dependency in an SBOM.
func (d *dependency) url() string { return "pkg:" + d.kind + "/" + d.path + "@" + d.version }

// embedded returns the npm packages whose files a program has, which "make assets" copied into
// the sources. main is the path of its main package.
func embedded(source, main string) ([]dependency, error) {
	if main != repository+"/cmd/cardctl" {
		return nil, nil
	}
	pages := filepath.Join(source, "cmd/cardctl/serve")
	text, err := os.ReadFile(filepath.Join(pages, "assets/package.json"))
	if err != nil {
		return nil, err
	}
	var manifest struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, fmt.Errorf("reading the npm packages: %w", err)
	}
	var all []dependency
	for name, version := range manifest.Dependencies {
		all = append(all, dependency{
			kind: "npm", path: name, version: version, directory: filepath.Join(pages, "page/static"), files: []string{"LICENSE." + name},
		})
	}
	return all, nil
}

// locate finds the directory of a module that a program records.
func locate(source, cache string, m *debug.Module) (dependency, error) {
	d := dependency{kind: "golang", path: m.Path, version: m.Version, sum: m.Sum}
	if m.Replace != nil && modfile.IsDirectoryPath(m.Replace.Path) {
		d.directory = filepath.Join(source, m.Replace.Path)
		return d, nil
	}
	if m.Replace != nil {
		d.path, d.version, d.sum = m.Replace.Path, m.Replace.Version, m.Replace.Sum
	}
	path, err := module.EscapePath(d.path)
	if err != nil {
		return d, err
	}
	version, err := module.EscapeVersion(d.version)
	d.directory = filepath.Join(cache, path+"@"+version)
	return d, err
}

var licenseFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice)([.-].*)?$`)

// leastCoverage is the part of a license file, in percent, that must be known text. The rest
// are names and years.
const leastCoverage = 75

// readLicenses finds the license files, unless they are known, and names the licenses in them.
func (d *dependency) readLicenses() error {
	if d.files == nil {
		if err := d.findLicenses(); err != nil {
			return err
		}
	}
	for _, name := range d.files {
		text, err := os.ReadFile(filepath.Join(d.directory, name))
		if err != nil {
			return err
		}
		if coverage := licensecheck.Scan(text); coverage.Percent >= leastCoverage {
			for _, match := range coverage.Match {
				d.licenses = append(d.licenses, match.ID)
			}
		}
	}
	slices.Sort(d.licenses)
	d.licenses = slices.Compact(d.licenses)
	return nil
}

func (d *dependency) findLicenses() error {
	entries, err := os.ReadDir(d.directory)
	if err != nil {
		return fmt.Errorf("looking for the licenses of %s: %w", d.url(), err)
	}
	for _, entry := range entries {
		extension := filepath.Ext(entry.Name())
		if entry.IsDir() || !licenseFile.MatchString(entry.Name()) || extension == ".go" || extension == ".docs" {
			continue // LICENSE.docs is that of documentation, which no program has
		}
		d.files = append(d.files, entry.Name())
	}
	return nil
}

// texts are the license files of dependencies, which every copy of a program has to come
// with.
func texts(dependencies []dependency) (string, error) {
	var all strings.Builder
	for _, d := range dependencies {
		for _, name := range d.files {
			text, err := os.ReadFile(filepath.Join(d.directory, name))
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&all, "==== %s %s: %s\n\n%s\n\n", d.path, d.version, name, strings.TrimSpace(string(text)))
		}
	}
	return all.String(), nil
}

// allowed are the licenses that a dependency can have; docs/dev/DEPENDENCIES.md says why.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// checkLicenses returns what is wrong with the licenses of dependencies.
func checkLicenses(dependencies []dependency) error {
	var problems []error
	for _, d := range dependencies {
		if len(d.licenses) == 0 {
			problems = append(problems, fmt.Errorf("%s %s has no license that is known", d.path, d.version))
		}
		for _, license := range d.licenses {
			if !slices.Contains(allowed, license) {
				problems = append(problems, fmt.Errorf("%s %s has the license %s, which is not among the allowed ones", d.path, d.version, license))
			}
		}
	}
	return errors.Join(problems...)
}
