package main_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"
)

// packed is a file of an archive.
type packed struct {
	mode    int64
	content []byte
}

// unpackTar returns the files of an archive by name. All belong to root.
func unpackTar(t *testing.T, from io.Reader) map[string]packed {
	t.Helper()
	files, archive := map[string]packed{}, tar.NewReader(from)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		require.Zero(t, header.Uid, header.Name)
		require.NotContains(t, files, header.Name)
		content, err := io.ReadAll(archive)
		require.NoError(t, err)
		files[header.Name] = packed{header.Mode, content}
	}
}

// unpackTarGz returns the files of a compressed archive of the release by name.
func (r *release) unpackTarGz(t *testing.T, name string) map[string]packed {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(read(t, r.path(name))))
	require.NoError(t, err)
	return unpackTar(t, compressed)
}

// helper is the program that cardctl runs.
const helper = "cardctl-mcp"

// modulesOf returns the build information of a program, and the sums of its modules and the
// standard library by package URL.
func modulesOf(t *testing.T, program []byte) (*debug.BuildInfo, map[string]string) {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(program))
	require.NoError(t, err)
	sums := map[string]string{"pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"): ""}
	for _, m := range info.Deps {
		version := m.Version
		if m.Replace != nil && strings.HasPrefix(m.Replace.Path, ".") {
			version = "devel" // a directory has no version
		} else if m.Replace != nil {
			m, version = m.Replace, m.Replace.Version
		}
		sums["pkg:golang/"+m.Path+"@"+version] = m.Sum
	}
	return info, sums
}

// dependenciesOf returns the build information of a program of an archive, and the sums of all
// that the archive is made of, by package URL: modules, the standard library, and the npm packages of
// the pages of cardctl.
func (b built) dependenciesOf(t *testing.T, files map[string]packed) (*debug.BuildInfo, map[string]string) {
	t.Helper()
	info, sums := modulesOf(t, files[b.program].content)
	require.Greater(t, len(sums), 50)
	if b.program == "cardctl" {
		_, more := modulesOf(t, files[helper].content)
		require.Contains(t, strings.Join(slices.Collect(maps.Keys(more)), " "), "pkg:golang/github.com/modelcontextprotocol/go-sdk@")
		maps.Copy(sums, more)
		var npm struct{ Dependencies map[string]string }
		require.NoError(t, json.Unmarshal(read(t, "../cmd/cardctl/serve/assets/package.json"), &npm))
		require.NotEmpty(t, npm.Dependencies)
		for name, version := range npm.Dependencies {
			sums["pkg:npm/"+name+"@"+version] = ""
		}
	}
	return info, sums
}

// TestReleasePrograms unpacks each program: it is built from the commit of the release, comes
// with the license texts of all its dependencies, and prints its version.
func TestReleasePrograms(t *testing.T) {
	r := openRelease(t)
	for _, b := range r.programs() {
		t.Run(r.stem(b), func(t *testing.T) {
			files := r.unpackTarGz(t, r.stem(b)+".tar.gz")
			programs := []string{b.program}
			if b.program == "cardctl" {
				programs = append(programs, helper)
			}
			require.Len(t, files, 2+len(programs))
			for _, program := range programs {
				require.EqualValues(t, 0o755, files[program].mode)
				b.isBuiltFor(t, files[program].content)
			}
			require.Equal(t, string(read(t, "../LICENSE")), string(files["LICENSE"].content))

			info, dependencies := b.dependenciesOf(t, files)
			require.Equal(t, r.version, info.Main.Version)
			require.Contains(t, dependencies, "pkg:golang/volcano.sh/volcano@"+b.volcano)
			texts := string(files["THIRD-PARTY-LICENSES"].content)
			for url := range dependencies {
				_, name, _ := strings.Cut(url, "/")
				require.True(t, strings.Contains(texts, "==== "+strings.Replace(name, "@", " ", 1)+": "), "THIRD-PARTY-LICENSES lacks %s", url)
			}
			if b.runsHere() {
				commit := b.isBuiltFor(t, files[b.program].content)
				require.Contains(t, started(t, b.program, files[b.program].content), b.program+" "+r.version+"\ncommit      "+commit+"\n")
			}
		})
	}
}

// isBuiltFor expects a program for the platform, from an unchanged clone, and returns its commit.
func (b built) isBuiltFor(t *testing.T, program []byte) (commit string) {
	t.Helper()
	info, _ := modulesOf(t, program)
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	for key, value := range map[string]string{"GOOS": b.os, "GOARCH": b.arch, "CGO_ENABLED": "0", "-trimpath": "true", "vcs.modified": "false"} {
		require.Equal(t, value, settings[key], key)
	}
	return settings["vcs.revision"]
}

// started runs a program with --version and returns its output.
func started(t *testing.T, name string, program []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, program, 0o755))
	command := exec.Command(path, "--version")
	command.Env = []string{}
	output, err := command.Output()
	require.NoError(t, err)
	return string(output)
}

// TestReleaseSBOMs reads the SBOM of each program: it describes the program in the archive,
// and has its dependencies with their sums and licenses.
func TestReleaseSBOMs(t *testing.T) {
	r := openRelease(t)
	for _, b := range r.programs() {
		t.Run(r.stem(b), func(t *testing.T) {
			files := r.unpackTarGz(t, r.stem(b)+".tar.gz")
			bom := r.readSBOM(t, r.stem(b), b.program, sumOf(files[b.program].content))
			_, dependencies := b.dependenciesOf(t, files)
			require.Equal(t, dependencies, listedIn(t, bom))
		})
	}
}

// readSBOM reads an SBOM, which describes the program or the image with a sum.
func (r *release) readSBOM(t *testing.T, stem, name, sum string) *cdx.BOM {
	t.Helper()
	bom := new(cdx.BOM)
	require.NoError(t, cdx.NewBOMDecoder(bytes.NewReader(read(t, r.path(stem+".cdx.json"))), cdx.BOMFileFormatJSON).Decode(bom))
	require.Equal(t, cdx.SpecVersion1_6, bom.SpecVersion)
	of := bom.Metadata.Component
	require.Equal(t, []string{name, r.version}, []string{of.Name, of.Version})
	require.Equal(t, sum, (*of.Hashes)[0].Value)
	return bom
}

// listedIn are the sums of the components of an SBOM by package URL. Each component has a
// license.
func listedIn(t *testing.T, bom *cdx.BOM) map[string]string {
	t.Helper()
	listed := map[string]string{}
	for _, c := range *bom.Components {
		require.NotEmpty(t, *c.Licenses, c.Name)
		require.True(t, strings.HasSuffix(c.PackageURL, "/"+c.Name+"@"+c.Version), c.PackageURL)
		listed[c.PackageURL] = ""
		if c.Hashes != nil {
			sum, err := hex.DecodeString((*c.Hashes)[0].Value)
			require.NoError(t, err)
			listed[c.PackageURL] = "h1:" + base64.StdEncoding.EncodeToString(sum)
		}
	}
	return listed
}
