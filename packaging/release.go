package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// overlays are the kustomize directories that a release has as one manifest each.
var overlays = map[string]string{
	"admission":     "deploy/admission",
	"cards":         "deploy/cards",
	"cardctl":       "deploy/cardctl",
	"drop-in":       "deploy/drop-in",
	"observability": "deploy/observability",
	"prometheus":    "deploy/observability/prometheus",
	"view":          "deploy/view",
}

func defineRelease(flags *flag.FlagSet) func() error {
	source := flags.String("source", ".", "the `directory` of a clean clone whose commit has the tag of the release")
	version := flags.String("version", "", "the release, for example v0.1.0")
	binaries := flags.String("binaries", "bin/binaries", "the `directory` of the programs")
	output := flags.String("o", "bin/release", "the `directory` to write to")
	on := flags.String("platforms", "", "only these platforms, to try a release")
	return func() error {
		if !semver.IsValid(*version) || semver.Canonical(*version) != *version {
			return fmt.Errorf("%q is not a version such as v0.1.0", *version)
		}
		created, err := timestamp(*source)
		if err != nil {
			return err
		}
		r := &release{source: *source, version: *version, output: *output, binaries: *binaries, platforms: *on, created: created}
		return r.make()
	}
}

// release is what the parts of a release share.
type release struct {
	source, version, output, binaries string
	platforms                         string // empty for all

	created time.Time
	volcano string  // for example v1.14.1
	images  []image // in the order of programs
	plugins []archive
}

// archive is a file with a program for a platform.
type archive struct {
	binary
	name   string // of the file
	sha256 string
}

func (r *release) make() error {
	if err := os.MkdirAll(r.output, 0o755); err != nil {
		return err
	}
	for _, p := range programs {
		if err := r.makeProgram(p); err != nil {
			return err
		}
	}
	for _, step := range []func() error{r.makeChart, r.makeManifests, r.makeKrew, r.makeDigests, r.makeChecksums} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// makeProgram writes the archives, the SBOMs and the image of a program.
func (r *release) makeProgram(p program) error {
	var forImage []binary
	for _, on := range p.platforms {
		if r.platforms != "" && !slices.Contains(strings.Split(r.platforms, ","), on.String()) {
			continue
		}
		b, err := build(r.source, p, on, r.binaries)
		if err != nil {
			return err
		}
		recorded, err := versionsOf(b.path)
		if err != nil {
			return err
		}
		if recorded.release != r.version {
			return fmt.Errorf("%s is %s and not %s: the source is not a clean clone with that tag", b.path, recorded.release, r.version)
		}
		r.volcano = recorded.volcano
		if err := r.makeArchive(b); err != nil {
			return err
		}
		if slices.Contains(linux, on) {
			forImage = append(forImage, b)
		}
	}
	directory := filepath.Join(r.output, "images", p.name+"_volcano-"+r.volcano)
	img, err := writeImage(r.source, forImage, directory)
	if err != nil {
		return err
	}
	r.images = append(r.images, img)
	return r.archiveImage(p, directory)
}

// stem is the beginning of the names of the files for a binary.
func (r *release) stem(b binary) string {
	return fmt.Sprintf("%s_%s_volcano-%s_%s_%s", b.name, r.version, r.volcano, b.os, b.arch)
}

// makeArchive writes the program with the licenses that go with it, and its SBOM.
func (r *release) makeArchive(b binary) error {
	dependencies, err := dependenciesOf(r.source, b.path)
	if err != nil {
		return err
	}
	if err := checkLicenses(dependencies); err != nil {
		return err
	}
	notices, err := texts(dependencies)
	if err != nil {
		return err
	}
	files := []file{
		{name: "LICENSE", mode: 0o644, path: filepath.Join(r.source, "LICENSE")},
		{name: "THIRD-PARTY-LICENSES", mode: 0o644, text: notices},
		{name: b.name, mode: 0o755, path: b.path},
	}
	name := r.stem(b) + ".tar.gz"
	path := filepath.Join(r.output, name)
	if err := writeTarGz(path, r.created, files); err != nil {
		return err
	}
	sum, err := sumOf(path)
	if err != nil {
		return err
	}
	if b.name == "cardctl" {
		r.plugins = append(r.plugins, archive{b, name, sum})
	}
	var bom bytes.Buffer
	if err := writeSBOM(&bom, r.source, b.path, r.created); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.output, r.stem(b)+".cdx.json"), bom.Bytes(), 0o644)
}

// archiveImage writes an OCI layout as one file, for clusters that reach no registry.
func (r *release) archiveImage(p program, directory string) error {
	var files []file
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(directory, path)
		files = append(files, file{name: filepath.ToSlash(name), mode: 0o644, path: path})
		return err
	})
	if err != nil {
		return err
	}
	to, err := os.Create(filepath.Join(r.output, fmt.Sprintf("%s_%s_volcano-%s_image.tar", p.name, r.version, r.volcano)))
	if err != nil {
		return err
	}
	defer to.Close()
	if err := writeTar(to, r.created, files); err != nil {
		return err
	}
	return to.Close()
}

func (r *release) makeChart() error {
	work, err := os.MkdirTemp("", "chart-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	directory, err := assembleChart(r.source, r.version, work)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%s.tgz", filepath.Base(chart), strings.TrimPrefix(r.version, "v"))
	return packChart(directory, filepath.Join(r.output, name), r.created)
}

// makeManifests writes what kubectl apply -k sends, with the images of this release by
// their digests.
func (r *release) makeManifests() error {
	for name, directory := range overlays {
		rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(r.source, directory))
		if err != nil {
			return fmt.Errorf("rendering %s: %w", directory, err)
		}
		text, err := rendered.AsYaml()
		if err != nil {
			return err
		}
		for _, i := range r.images {
			tagged := regexp.MustCompile(regexp.QuoteMeta(registry+"/"+i.name) + `:\S+`)
			text = tagged.ReplaceAll(text, []byte(registry+"/"+i.name+"@"+i.digest.String()))
		}
		if err := os.WriteFile(filepath.Join(r.output, fmt.Sprintf("deploy-%s_%s_volcano-%s.yaml", name, r.version, r.volcano)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// makeKrew writes the manifest by which krew installs cardctl as kubectl card.
func (r *release) makeKrew() error {
	var text strings.Builder
	fmt.Fprintf(&text, `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: card
spec:
  version: %s
  homepage: https://%s
  shortDescription: Explain quotas of Volcano's queues
  description: |
    Shows why jobs wait, who uses which cards, what is wrong with queues, and what would
    change. It reads the cluster and changes nothing.
  platforms:
`, r.version, repository)
	for _, a := range r.plugins {
		fmt.Fprintf(&text, `  - selector:
      matchLabels: {os: %s, arch: %s}
    uri: https://%s/releases/download/%s/%s
    sha256: %s
    bin: %s
`, a.os, a.arch, repository, r.version, a.name, a.sha256, a.binary.name)
	}
	return os.WriteFile(filepath.Join(r.output, "krew_card_volcano-"+r.volcano+".yaml"), []byte(text.String()), 0o644)
}

// makeDigests writes the names of the images and their digests.
func (r *release) makeDigests() error {
	var text strings.Builder
	for _, i := range r.images {
		fmt.Fprintf(&text, "%s@%s\n", i.reference(), i.digest)
	}
	return os.WriteFile(filepath.Join(r.output, "images_volcano-"+r.volcano+".txt"), []byte(text.String()), 0o644)
}

// makeChecksums writes the sums of all files as sha256sum does, and prints them.
func (r *release) makeChecksums() error {
	entries, err := os.ReadDir(r.output)
	if err != nil {
		return err
	}
	const name = "checksums.txt"
	var text strings.Builder
	for _, entry := range entries {
		if entry.IsDir() || entry.Name() == name {
			continue
		}
		sum, err := sumOf(filepath.Join(r.output, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, entry.Name())
	}
	fmt.Print(text.String())
	for _, i := range r.images {
		fmt.Printf("%s  %s\n", i.digest, i.reference())
	}
	return os.WriteFile(filepath.Join(r.output, name), []byte(text.String()), 0o644)
}

func sumOf(path string) (string, error) {
	content, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer content.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, content); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
