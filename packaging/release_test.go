package main_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The release that is tested. Without one there is nothing to test.
var (
	releaseDirectory = flag.String("release", "", "the directory of the release")
	releaseVersion   = flag.String("release-version", "", "the version of the release")
	releasePlatforms = flag.String("release-platforms", "", "only these platforms, with commas between them")
)

// release is a directory that "make release" wrote.
type release struct {
	directory, version string
	volcanos           []string          // for example v1.14.1
	images             map[string]string // digests by reference, with the tag
}

// openRelease reads which Volcanos and images a release has.
func openRelease(t *testing.T) *release {
	t.Helper()
	if *releaseDirectory == "" {
		t.Skip("make release runs this")
	}
	r := &release{directory: *releaseDirectory, version: *releaseVersion, images: map[string]string{}}
	lists, err := filepath.Glob(r.path("images_volcano-*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, lists)
	for _, list := range lists {
		volcano := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(list), "images_volcano-"), ".txt")
		r.volcanos = append(r.volcanos, volcano)
		for line := range strings.Lines(string(read(t, list))) {
			reference, digest, found := strings.Cut(strings.TrimSpace(line), "@")
			require.True(t, found, line)
			r.images[reference] = digest
		}
		for _, program := range []string{"vc-scheduler", "cardctl"} {
			require.Contains(t, r.images, "ghcr.io/capacity-card/"+program+":"+r.version+"-volcano-"+volcano)
		}
	}
	require.Len(t, r.images, 2*len(lists))
	return r
}

func (r *release) path(name string) string { return filepath.Join(r.directory, name) }

// built is a program of a release for a platform.
type built struct{ program, volcano, os, arch string }

// stem is the beginning of the names of its files.
func (r *release) stem(b built) string {
	return b.program + "_" + r.version + "_volcano-" + b.volcano + "_" + b.os + "_" + b.arch
}

// programs are the programs that the release must have.
func (r *release) programs() (all []built) {
	for _, volcano := range r.volcanos {
		for _, b := range []built{
			{"vc-scheduler", volcano, "linux", "amd64"}, {"vc-scheduler", volcano, "linux", "arm64"},
			{"cardctl", volcano, "linux", "amd64"}, {"cardctl", volcano, "linux", "arm64"},
			{"cardctl", volcano, "darwin", "amd64"}, {"cardctl", volcano, "darwin", "arm64"},
		} {
			if *releasePlatforms == "" || slices.Contains(strings.Split(*releasePlatforms, ","), b.os+"/"+b.arch) {
				all = append(all, b)
			}
		}
	}
	return all
}

// runsHere is whether this machine can run a program.
func (b built) runsHere() bool { return b.os == runtime.GOOS && b.arch == runtime.GOARCH }

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// TestReleaseFiles expects a release to have exactly its files, and the table in
// docs/dev/RELEASING.md to have a row for each.
func TestReleaseFiles(t *testing.T) {
	r := openRelease(t)
	want := []string{"capacity-card-" + strings.TrimPrefix(r.version, "v") + ".tgz", "checksums.txt", "images"}
	for _, b := range r.programs() {
		want = append(want, r.stem(b)+".tar.gz", r.stem(b)+".cdx.json")
	}
	kustomizations, err := filepath.Glob("../deploy/*/kustomization.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, kustomizations)
	nested, err := filepath.Glob("../deploy/*/*/kustomization.yaml")
	require.NoError(t, err)
	var layouts []string
	for _, volcano := range r.volcanos {
		for _, kustomization := range slices.Concat(kustomizations, nested) {
			want = append(want, "deploy-"+filepath.Base(filepath.Dir(kustomization))+"_"+r.version+"_volcano-"+volcano+".yaml")
		}
		for _, program := range []string{"vc-scheduler", "cardctl"} {
			stem := program + "_" + r.version + "_volcano-" + volcano + "_image"
			want = append(want, stem+".tar", stem+".cdx.json")
			layouts = append(layouts, program+"_volcano-"+volcano)
		}
		want = append(want, "images_volcano-"+volcano+".txt", "krew_card_volcano-"+volcano+".yaml",
			"helm-values_"+r.version+"_volcano-"+volcano+".yaml")
	}
	names := namesIn(t, r.directory)
	require.ElementsMatch(t, want, names)
	require.ElementsMatch(t, layouts, namesIn(t, r.path("images")))

	documented := documentedFiles(t)
	for _, name := range names {
		rows := 0
		for _, row := range documented {
			if row.MatchString(name) {
				rows++
			}
		}
		require.Equal(t, 1, rows, "rows of docs/dev/RELEASING.md that have %s", name)
	}
}

func namesIn(t *testing.T, directory string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// documentedFiles are the names in the table of docs/dev/RELEASING.md. … and * stand for
// any text, {a,b} for a or b.
func documentedFiles(t *testing.T) (rows []*regexp.Regexp) {
	t.Helper()
	_, table, found := strings.Cut(string(read(t, "../docs/dev/RELEASING.md")), "\n| file | content |\n|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	pattern := strings.NewReplacer(".", `\.`, "…", ".*", "*", ".*", "{", "(", "}", ")", ",", "|", "/", "")
	for row := range strings.Lines(table) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		for name := range strings.SplitSeq(cell, "`, `") {
			rows = append(rows, regexp.MustCompile("^"+pattern.Replace(strings.Trim(name, "`"))+"$"))
		}
	}
	return rows
}

// TestReleaseChecksums compares the sums with the files. Only the list of sums itself has no sum.
func TestReleaseChecksums(t *testing.T) {
	r := openRelease(t)
	listed := map[string]string{}
	for line := range strings.Lines(string(read(t, r.path("checksums.txt")))) {
		sum, name, found := strings.Cut(strings.TrimSpace(line), "  ")
		require.True(t, found, line)
		listed[name] = sum
	}
	found := map[string]string{}
	for _, name := range namesIn(t, r.directory) {
		if name != "images" && name != "checksums.txt" {
			found[name] = sumOf(read(t, r.path(name)))
		}
	}
	require.Equal(t, found, listed)
	require.NotEmpty(t, listed)
}
