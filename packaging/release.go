package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"golang.org/x/mod/semver"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// release holds the values that the parts of a release share.
type release struct {
	options
	created time.Time
	volcano string          // for example v1.14.1
	images  []*image        // in the order of programs
	plugins strings.Builder // the archives in the manifest of krew
}

// makeRelease builds all files of a release.
func makeRelease(o options) error {
	if !semver.IsValid(o.version) || semver.Canonical(o.version) != o.version {
		return fmt.Errorf("%q is not a version such as v0.1.0", o.version)
	}

	created, err := timestamp(o.source)
	if err != nil {
		return err
	}

	r := &release{options: o, created: created}
	err = os.MkdirAll(r.output, 0o755)
	if err != nil {
		return err
	}

	for _, p := range programs {
		err := r.makeProgram(p)
		if err != nil {
			return err
		}
	}

	steps := []func() error{
		r.makeChart, r.makeManifests, r.makeValues, r.makeKrew, r.makeDigests, r.makeChecksums,
	}
	for _, step := range steps {
		err := step()
		if err != nil {
			return err
		}
	}

	return nil
}

// path returns the path of a file with both versions in its name.
func (r *release) path(name, rest string) string {
	return filepath.Join(r.output, name+"_"+r.version+"_volcano-"+r.volcano+rest)
}

// makeProgram writes the archives, the SBOMs and the image of a program.
func (r *release) makeProgram(p program) error {
	built, err := r.build(p, p.platforms)
	if err != nil {
		return err
	}

	for _, b := range built {
		if b.release != r.version {
			return fmt.Errorf("%s is %s and not %s: the source is not a clean clone with that tag",
				b.path, b.release, r.version)
		}
		r.volcano = b.volcano
		err := r.makeArchive(b)
		if err != nil {
			return err
		}
	}

	return r.makeImage(p, slices.DeleteFunc(built, func(b binary) bool { return b.os != "linux" }))
}

// makeArchive writes the program with its licenses, and its SBOM.
func (r *release) makeArchive(b binary) error {
	license, err := os.ReadFile(filepath.Join(r.source, "LICENSE"))
	if err != nil {
		return err
	}

	programs, err := b.files()
	if err != nil {
		return err
	}

	stem := r.path(b.name, "_"+b.os+"_"+b.arch)
	err = writeArchive(stem+".tar.gz", r.created, append([]file{
		{"LICENSE", 0o644, license},
		{"THIRD-PARTY-LICENSES", 0o644, notices(b.dependencies)},
	}, programs...))
	if err != nil {
		return err
	}

	if b.name == "cardctl" {
		err := r.addPlugin(b, stem+".tar.gz")
		if err != nil {
			return err
		}
	}

	sum, err := sumOf(b.path)
	if err != nil {
		return err
	}

	return writeSBOM(stem+".cdx.json", cdx.Component{
		BOMRef: "program", Type: cdx.ComponentTypeApplication, Name: b.name, Version: r.version,
		PackageURL: "pkg:golang/" + repository + "@" + r.version + "#cmd/" + b.name, Hashes: sha256Of(sum),
	}, b.dependencies, r.created)
}

// addPlugin adds an archive to the manifest of krew.
func (r *release) addPlugin(b binary, archive string) error {
	sum, err := sumOf(archive)
	if err != nil {
		return err
	}

	fmt.Fprintf(&r.plugins, `  - selector:
      matchLabels: {os: %s, arch: %s}
    uri: https://%s/releases/download/%s/%s
    sha256: %s
    bin: %s
`, b.os, b.arch, repository, r.version, filepath.Base(archive), sum, b.name)

	return nil
}

// makeImage writes the image of a program, its SBOM, and its layout as one file, for clusters
// without a registry.
func (r *release) makeImage(p program, built []binary) error {
	directory := filepath.Join(r.output, "images", p.name+"_volcano-"+r.volcano)
	img, err := writeImage(r.source, built, directory)
	if err != nil {
		return err
	}

	r.images = append(r.images, img)

	component := cdx.Component{
		BOMRef:  "image",
		Type:    cdx.ComponentTypeContainer,
		Name:    img.name,
		Version: r.version,
		Hashes:  sha256Of(img.digest.Hex),
		PackageURL: "pkg:oci/" + img.name + "@" + url.QueryEscape(img.digest.String()) +
			"?repository_url=" + registry + "/" + img.name + "&tag=" + img.tag(),
	}
	err = writeSBOM(r.path(img.name, "_image.cdx.json"), component, img.dependencies, r.created)
	if err != nil {
		return err
	}

	files, err := filesIn(directory, directory)
	if err != nil {
		return err
	}

	return writeArchive(r.path(img.name, "_image.tar"), r.created, files)
}

// makeChart writes the chart as helm package does, but with one time for all files.
func (r *release) makeChart() error {
	work, err := os.MkdirTemp("", "chart-")
	if err != nil {
		return err
	}

	defer os.RemoveAll(work)
	directory, err := options{source: r.source, version: r.version, output: work}.assembleChart()
	if err != nil {
		return err
	}

	files, err := filesIn(directory, work)
	if err != nil {
		return err
	}

	name := filepath.Base(chart) + "-" + strings.TrimPrefix(r.version, "v") + ".tgz"
	return writeArchive(filepath.Join(r.output, name), r.created, files)
}

// makeManifests writes the objects that kubectl apply -k sends for each kustomize directory. They name the
// images of this release by their digests.
func (r *release) makeManifests() error {
	deploy := filepath.Join(r.source, "deploy")
	return filepath.WalkDir(deploy, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "kustomization.yaml" {
			return err
		}

		directory := filepath.Dir(path)
		rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
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

		return os.WriteFile(r.path("deploy-"+filepath.Base(directory), ".yaml"), text, 0o644)
	})
}

// makeValues writes the values for Volcano's own chart. They name an image that never changes. From
// v1.15 on, the chart has a tag for the scheduler. Before, one tag is for all images, so the name of
// the image has the version.
func (r *release) makeValues() error {
	to := r.path("helm-values", ".yaml")
	name, tag := "vc-scheduler-"+r.version, ""
	if semver.Compare(r.volcano, "v1.15.0") >= 0 {
		name, tag = "vc-scheduler", "\n  scheduler_image_tag_version: "+r.version+"-volcano-"+r.volcano
	}
	return rewrite(to, filepath.Join(r.source, "deploy/helm/values.yaml"), map[string]string{
		`(?m)^# basic:$`:                      "basic:",
		`(?m)^#   scheduler_image_name: \S+$`: "  scheduler_image_name: capacitycard/" + name,
		`(?m)^#   image_tag_version: \S+$`:    "  image_tag_version: " + r.volcano + tag,
		`Nothing is set until you fill it in`: "The image of this release is set. Fill in the rest",
		`--version \S+`:                       "--version " + strings.TrimPrefix(r.volcano, "v"),
		`deploy/helm/values\.yaml`:            filepath.Base(to),
	})
}

// makeKrew writes the manifest for krew, which installs cardctl as kubectl card.
func (r *release) makeKrew() error {
	text := fmt.Sprintf(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
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
%s`, r.version, repository, r.plugins.String())
	return os.WriteFile(filepath.Join(r.output, "krew_card_volcano-"+r.volcano+".yaml"), []byte(text), 0o644)
}

// makeDigests writes the names of the images and their digests.
func (r *release) makeDigests() error {
	var text string
	for _, i := range r.images {
		text += i.reference() + "@" + i.digest.String() + "\n"
	}
	return os.WriteFile(filepath.Join(r.output, "images_volcano-"+r.volcano+".txt"), []byte(text), 0o644)
}

// makeChecksums writes the sums of all files as sha256sum does, and prints them.
func (r *release) makeChecksums() error {
	entries, err := os.ReadDir(r.output)
	if err != nil {
		return err
	}

	const name = "checksums.txt"
	var text string
	for _, entry := range entries {
		if entry.IsDir() || entry.Name() == name {
			continue
		}

		sum, err := sumOf(filepath.Join(r.output, entry.Name()))
		if err != nil {
			return err
		}
		text += sum + "  " + entry.Name() + "\n"
	}

	fmt.Print(text)
	for _, i := range r.images {
		fmt.Printf("%s  %s\n", i.digest, i.reference())
	}

	return os.WriteFile(filepath.Join(r.output, name), []byte(text), 0o644)
}

func sumOf(path string) (string, error) {
	content, err := os.ReadFile(path)
	return fmt.Sprintf("%x", sha256.Sum256(content)), err
}
