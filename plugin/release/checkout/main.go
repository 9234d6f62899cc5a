// Command checkout writes the mod file of a build with a checkout of Volcano: a fork, a branch, or a release that no
// module proxy has. It writes build/volcano/go.mod and go.sum from a mod file of this module and the go.mod of the
// checkout, and prints the commit. The mod file is the newest one that does not require a newer Kubernetes than the
// checkout.
//
//	go run ./plugin/release/checkout ../volcano
//	GOFLAGS=-modfile=$PWD/build/volcano/go.mod go test ./plugin/...
//
// If both files require a module, the newer version is used. The replacements of the checkout are kept.
// volcano.sh/apis is the module that the checkout has or replaces, or otherwise build/apis, which plugin/release/apis
// writes.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

const (
	volcano    = "volcano.sh/volcano"
	apis       = "volcano.sh/apis"
	unreleased = "v0.0.0"

	kubernetesAPI = "k8s.io/api"
)

// bases are the mod files of this module, the newest first.
var bases = []string{"go.v1.15.mod", "go.mod"}

func main() {
	log.SetFlags(0)
	log.SetPrefix("checkout: ")
	if len(os.Args) != 2 {
		log.Fatal("name the directory of a checkout of Volcano")
	}
	if err := run(os.Args[1], filepath.Join("build", "volcano")); err != nil {
		log.Fatal(err)
	}
}

// run writes the mod file for the checkout into the directory to.
func run(checkout, to string) error {
	checkout, err := filepath.Abs(checkout)
	if err != nil {
		return err
	}

	source, err := read(filepath.Join(checkout, "go.mod"))
	if err != nil {
		return err
	}
	if source.Module == nil || source.Module.Mod.Path != volcano {
		return fmt.Errorf("%s is not the module %s", checkout, volcano)
	}

	base, err := baseFor(source)
	if err != nil {
		return err
	}

	file, err := read(base)
	if err != nil {
		return err
	}

	directory, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := merge(file, source, checkout, directory); err != nil {
		return err
	}

	if err := write(to, file, base, checkout); err != nil {
		return err
	}
	if err := tidy(filepath.Join(directory, to, "go.mod")); err != nil {
		return err
	}

	kubernetes := version(source, kubernetesAPI)
	log.Printf("%s is %s, with Kubernetes %s, built from %s", checkout, commit(checkout), kubernetes, base)
	return nil
}

// baseFor returns the newest mod file of this module that does not require a newer Kubernetes than the checkout.
// Otherwise the sources of the checkout may not compile. Patch releases do not count.
func baseFor(source *modfile.File) (string, error) {
	wanted := version(source, kubernetesAPI)
	for _, base := range bases {
		file, err := read(base)
		if err != nil {
			return "", err
		}

		required := version(file, kubernetesAPI)
		if semver.Compare(semver.MajorMinor(required), semver.MajorMinor(wanted)) <= 0 {
			return base, nil
		}
	}
	return "", fmt.Errorf("the checkout requires %s %q, which is older than what this module is built with",
		kubernetesAPI, wanted)
}

func read(path string) (*modfile.File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(path, text, nil)
}

// merge adds the checkout to the mod file of this module, with the requirements and replacements of the checkout.
// directory is the directory of the module.
func merge(file, source *modfile.File, checkout, directory string) error {
	kubernetes := version(file, kubernetesAPI)
	err := errors.Join(
		addRequirements(file, source),
		anchor(file, directory),
		addReplacements(file, source, checkout),
		file.AddRequire(volcano, unreleased),
		file.AddReplace(volcano, "", checkout, ""),
	)
	if err != nil {
		return err
	}

	if err := alignKubernetes(file, kubernetes, version(source, kubernetesAPI)); err != nil {
		return err
	}

	file.Cleanup()
	return nil
}

// addRequirements adds the newer requirements of a checkout.
func addRequirements(file, source *modfile.File) error {
	if source.Go != nil && semver.Compare("v"+source.Go.Version, "v"+file.Go.Version) > 0 {
		if err := file.AddGoStmt(source.Go.Version); err != nil {
			return err
		}
	}

	for _, r := range source.Require {
		if semver.Compare(r.Mod.Version, version(file, r.Mod.Path)) <= 0 {
			continue
		}
		if err := file.AddRequire(r.Mod.Path, r.Mod.Version); err != nil {
			return err
		}
	}
	return nil
}

// anchor makes the relative paths of a mod file absolute.
func anchor(file *modfile.File, directory string) error {
	for _, r := range file.Replace {
		if filepath.IsAbs(r.New.Path) || !modfile.IsDirectoryPath(r.New.Path) {
			continue
		}
		if err := file.AddReplace(r.Old.Path, r.Old.Version, filepath.Join(directory, r.New.Path), ""); err != nil {
			return err
		}
	}
	return nil
}

// addReplacements adds the replacements of a checkout.
func addReplacements(file, source *modfile.File, checkout string) error {
	for _, r := range source.Replace {
		to := r.New
		if modfile.IsDirectoryPath(to.Path) && !filepath.IsAbs(to.Path) {
			to = module.Version{Path: filepath.Join(checkout, to.Path)}
		}
		if err := file.AddReplace(r.Old.Path, r.Old.Version, to.Path, to.Version); err != nil {
			return err
		}
	}
	return nil
}

// alignKubernetes requires one release of all parts of Kubernetes, because they are released together. Some of them
// only this module may require.
func alignKubernetes(file *modfile.File, before, release string) error {
	for _, r := range file.Require {
		if release == "" || !strings.HasPrefix(r.Mod.Path, "k8s.io/") || r.Mod.Version != before {
			continue
		}
		if err := file.AddRequire(r.Mod.Path, release); err != nil {
			return err
		}
	}
	return nil
}

// version returns the version of a module that a file requires, or "".
func version(file *modfile.File, path string) string {
	for _, r := range file.Require {
		if r.Mod.Path == path {
			return r.Mod.Version
		}
	}
	return ""
}

// write writes the mod file, and the checksums of its base and of the checkout.
func write(to string, file *modfile.File, base, checkout string) error {
	text, err := file.Format()
	if err != nil {
		return err
	}

	var sums []byte
	for _, path := range []string{strings.TrimSuffix(base, ".mod") + ".sum", filepath.Join(checkout, "go.sum")} {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}

		sums = append(sums, text...)
	}

	return errors.Join(
		os.MkdirAll(to, 0o755),
		os.WriteFile(filepath.Join(to, "go.mod"), text, 0o644),
		os.WriteFile(filepath.Join(to, "go.sum"), sums, 0o644),
	)
}

// tidy completes a mod file.
func tidy(file string) error {
	tidy := exec.Command("go", "mod", "tidy", "-modfile="+file)
	tidy.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := tidy.CombinedOutput(); err != nil {
		return fmt.Errorf("go mod tidy: %w\n%s", err, out)
	}
	return nil
}

// commit names the commit of a checkout, with its changes.
func commit(checkout string) string {
	describe := exec.Command("git", "-C", checkout, "describe", "--always", "--dirty", "--tags", "--abbrev=12")
	out, err := describe.Output()
	if err != nil {
		return "no repository of git"
	}
	return strings.TrimSpace(string(out))
}
