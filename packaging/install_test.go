package main_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestReleaseImages reads each image: its digest is the one that the release lists, it has
// the programs of the archives with their license texts, and its file has the same layout.
func TestReleaseImages(t *testing.T) {
	r := openRelease(t)
	for _, volcano := range r.volcanos {
		for _, program := range []string{"vc-scheduler", "cardctl"} {
			t.Run(program+"_"+volcano, func(t *testing.T) {
				directory := r.path("images/" + program + "_volcano-" + volcano)
				whole, err := layout.ImageIndexFromPath(directory)
				require.NoError(t, err)
				entries, err := whole.IndexManifest()
				require.NoError(t, err)
				require.Len(t, entries.Manifests, 1)
				reference := entries.Manifests[0].Annotations["org.opencontainers.image.ref.name"]
				require.Equal(t, "ghcr.io/capacity-card/"+program+":"+r.version+"-volcano-"+volcano, reference)
				require.Equal(t, r.images[reference], entries.Manifests[0].Digest.String())
				index, err := whole.ImageIndex(entries.Manifests[0].Digest)
				require.NoError(t, err)
				require.NoError(t, validate.Index(index))
				dependencies := r.hasPlatforms(t, index, program, volcano)
				stem := program + "_" + r.version + "_volcano-" + volcano + "_image"
				r.isPacked(t, directory, stem+".tar")
				r.hasSBOM(t, stem, program, entries.Manifests[0].Digest.Hex, dependencies)
			})
		}
	}
}

// hasPlatforms expects an image for each platform with linux. The image has the files of the archive for that platform.
// hasPlatforms returns the dependencies of the programs.
func (r *release) hasPlatforms(t *testing.T, index v1.ImageIndex, program, volcano string) map[string]string {
	t.Helper()
	platforms, all := map[string]v1.Hash{}, map[string]string{}
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	for _, entry := range manifest.Manifests {
		platforms[entry.Platform.String()] = entry.Digest
	}
	for _, b := range r.programs() {
		if b.program != program || b.volcano != volcano || b.os != "linux" {
			continue
		}
		require.Contains(t, platforms, b.os+"/"+b.arch)
		image, err := index.Image(platforms[b.os+"/"+b.arch])
		require.NoError(t, err)
		config, err := image.ConfigFile()
		require.NoError(t, err)
		require.Equal(t, r.version, config.Config.Labels["org.opencontainers.image.version"])
		files := mutate.Extract(image)
		inImage := unpackTar(t, files)
		require.NoError(t, files.Close())
		archive := r.unpackTarGz(t, r.stem(b)+".tar.gz")
		require.Contains(t, string(inImage["etc/ssl/certs/ca-certificates.crt"].content), "BEGIN CERTIFICATE")
		require.Contains(t, string(inImage["licenses/ROOT-CERTIFICATES"].content), "==== "+roots+" v")
		want := map[string]string{program: program, "LICENSE": "licenses/LICENSE", "THIRD-PARTY-LICENSES": "licenses/THIRD-PARTY-LICENSES"}
		if program == "cardctl" {
			want[helper] = helper
		}
		for name, path := range want {
			require.True(t, bytes.Equal(archive[name].content, inImage[path].content), "%s is not that of the archive", path)
		}
		_, dependencies := b.dependenciesOf(t, archive)
		maps.Copy(all, dependencies)
		delete(platforms, b.os+"/"+b.arch)
	}
	require.Empty(t, platforms)
	return all
}

// roots is the module of the root certificates, which are in the images alone.
const roots = "golang.org/x/crypto/x509roots/fallback"

// hasSBOM expects the SBOM of an image to have the dependencies of its programs, and the root certificates in the
// version that this module requires.
func (r *release) hasSBOM(t *testing.T, stem, program, digest string, want map[string]string) {
	t.Helper()
	for line := range strings.Lines(string(read(t, "go.sum"))) {
		if fields := strings.Fields(line); fields[0] == roots && !strings.HasSuffix(fields[1], "/go.mod") {
			want["pkg:golang/"+roots+"@"+fields[1]] = fields[2]
		}
	}
	bom := r.readSBOM(t, stem, program, digest)
	require.Contains(t, bom.Metadata.Component.PackageURL, "@sha256%3A"+digest+"?")
	require.Equal(t, want, listedIn(t, bom))
}

// isPacked expects a file of the release to have the files of an OCI layout.
func (r *release) isPacked(t *testing.T, directory, name string) {
	t.Helper()
	archive, err := os.Open(r.path(name))
	require.NoError(t, err)
	defer archive.Close()
	inArchive := unpackTar(t, archive)
	names := 0
	require.NoError(t, filepath.WalkDir(directory, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		names++
		relative, err := filepath.Rel(directory, path)
		require.True(t, bytes.Equal(read(t, path), inArchive[filepath.ToSlash(relative)].content), "%s of %s", relative, name)
		return err
	}))
	require.Len(t, inArchive, names)
}

// ours are the images of this project in manifests, with their digests or tags.
var ours = regexp.MustCompile(`ghcr\.io/capacity-card/[^\s"]+`)

// TestReleaseManifests expects the manifests to name the images of the release by their
// digests, and each image to be named.
func TestReleaseManifests(t *testing.T) {
	r := openRelease(t)
	digests, named := map[string]string{}, map[string]bool{}
	for reference, digest := range r.images {
		name, tag, _ := strings.Cut(reference, ":")
		digests[name+"@"+digest] = tag[strings.LastIndex(tag, "-")+1:]
	}
	manifests, err := filepath.Glob(r.path("deploy-*.yaml"))
	require.NoError(t, err)
	for _, path := range manifests {
		text := read(t, path)
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			object := map[string]any{}
			require.NoError(t, yaml.Unmarshal(document, &object), path)
			require.NotEmpty(t, object["kind"], path)
		}
		for _, image := range ours.FindAllString(string(text), -1) {
			require.Contains(t, digests, image, path)
			require.Contains(t, path, "_volcano-"+digests[image]+".yaml")
			named[image] = true
		}
	}
	require.Len(t, named, len(digests))
}

// TestReleaseChart renders the chart with all optional objects. The chart and its images have the version of the
// release.
func TestReleaseChart(t *testing.T) {
	r := openRelease(t)
	chart := r.path("capacity-card-" + strings.TrimPrefix(r.version, "v") + ".tgz")
	helm := func(arguments ...string) string {
		command := exec.Command("../bin/tools/helm", arguments...)
		command.Env = append(os.Environ(), "HOME="+t.TempDir())
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s", output)
		return string(output)
	}
	require.Contains(t, helm("lint", "--strict", chart), "0 chart(s) failed")
	shown := helm("show", "chart", chart)
	require.Contains(t, shown, "\nversion: "+strings.TrimPrefix(r.version, "v")+"\n")
	require.Contains(t, shown, "appVersion: "+r.version+"\n")
	images := ours.FindAllString(helm("template", "x", chart, "--set", "view.enabled=true"), -1)
	require.Len(t, images, 2, "the view and the test run cardctl")
	for _, image := range images {
		require.Contains(t, r.images, image)
	}
}

// TestReleaseValues expects the values for Volcano's own chart to name an image that push makes and
// that no later release replaces.
func TestReleaseValues(t *testing.T) {
	r := openRelease(t)
	for _, volcano := range r.volcanos {
		var values struct {
			Basic struct {
				Name string `json:"scheduler_image_name"`
				Tag  string `json:"image_tag_version"`
				Own  string `json:"scheduler_image_tag_version"`
			}
		}
		name := "helm-values_" + r.version + "_volcano-" + volcano + ".yaml"
		text := read(t, r.path(name))
		require.NoError(t, yaml.Unmarshal(text, &values))
		if volcano < "v1.15" {
			require.Equal(t, "capacitycard/vc-scheduler-"+r.version, values.Basic.Name)
			require.Empty(t, values.Basic.Own)
		} else {
			require.Equal(t, "capacitycard/vc-scheduler", values.Basic.Name)
			require.Equal(t, r.version+"-volcano-"+volcano, values.Basic.Own)
		}
		require.Equal(t, volcano, values.Basic.Tag)
		require.Contains(t, string(text), " --version "+strings.TrimPrefix(volcano, "v")+" ")
		require.Contains(t, string(text), " -f "+name+"\n")
	}
}

// TestReleaseKrew follows the manifest of krew to the archives.
func TestReleaseKrew(t *testing.T) {
	r := openRelease(t)
	for _, volcano := range r.volcanos {
		var plugin struct {
			Spec struct {
				Version   string
				Platforms []struct {
					Selector         struct{ MatchLabels struct{ OS, Arch string } }
					URI, SHA256, Bin string
				}
			}
		}
		require.NoError(t, yaml.Unmarshal(read(t, r.path("krew_card_volcano-"+volcano+".yaml")), &plugin))
		require.Equal(t, r.version, plugin.Spec.Version)
		want := map[string]string{}
		for _, b := range r.programs() {
			if b.program == "cardctl" && b.volcano == volcano {
				want["https://github.com/capacity-card/capacity-card/releases/download/"+r.version+"/"+r.stem(b)+".tar.gz"] =
					b.os + "/" + b.arch + " " + sumOf(read(t, r.path(r.stem(b)+".tar.gz")))
			}
		}
		got := map[string]string{}
		for _, p := range plugin.Spec.Platforms {
			require.Equal(t, "cardctl", p.Bin)
			got[p.URI] = p.Selector.MatchLabels.OS + "/" + p.Selector.MatchLabels.Arch + " " + p.SHA256
		}
		require.Equal(t, want, got)
	}
}
