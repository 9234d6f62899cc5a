package main

import (
	"debug/buildinfo"
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

// dependency is a module of a program, with its license files in the module cache.
type dependency struct {
	path, version string
	sum           string // h1:…, as in go.sum; empty for a module in the file system
	directory     string
	files         []string // of directory
	licenses      []string // SPDX identifiers, sorted
}

// dependenciesOf returns the modules of programs, each once and in order. source is the
// directory of the repository.
func dependenciesOf(source string, paths ...string) ([]dependency, error) {
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("looking for the module cache: %w", err)
	}
	found := map[string]dependency{}
	for _, path := range paths {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, m := range info.Deps {
			d, err := locate(source, strings.TrimSpace(string(cache)), m)
			if err != nil {
				return nil, err
			}
			found[d.path+"@"+d.version] = d
		}
	}
	all := make([]dependency, 0, len(found))
	for _, d := range found {
		if err := d.readLicenses(); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b dependency) int { return strings.Compare(a.path+"@"+a.version, b.path+"@"+b.version) })
	return all, nil
}

// locate finds the directory of a module that a program records.
func locate(source, cache string, m *debug.Module) (dependency, error) {
	d := dependency{path: m.Path, version: m.Version, sum: m.Sum}
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

// readLicenses finds the license files of the module and names the licenses in them.
func (d *dependency) readLicenses() error {
	entries, err := os.ReadDir(d.directory)
	if err != nil {
		return fmt.Errorf("%s %s is not in the module cache: %w", d.path, d.version, err)
	}
	for _, entry := range entries {
		extension := filepath.Ext(entry.Name())
		if entry.IsDir() || !licenseFile.MatchString(entry.Name()) || extension == ".go" || extension == ".docs" {
			continue // LICENSE.docs is that of documentation, which no program has
		}
		d.files = append(d.files, entry.Name())
		text, err := os.ReadFile(filepath.Join(d.directory, entry.Name()))
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
var allowed = []string{"Apache-2.0", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

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
