package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// program is a main package of the repository.
type program struct {
	name        string
	description string
	platforms   []platform // of the binaries in a release; images are for those with linux
	helper      helper     // the zero helper for none
}

// helper is a program that another one runs. It is of a module of its own, and comes with the other one.
type helper struct{ name, directory string }

// platform is an operating system and an architecture, as Go names them.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

var linux = []platform{{"linux", "amd64"}, {"linux", "arm64"}}

// cardctl is not for Windows, where Volcano's scheduler, which it runs, does not compile.
var programs = []program{
	{
		name: "vc-scheduler", platforms: linux,
		description: "Volcano's scheduler with the quota plugins capacity, proportion and capacity-card",
	},
	{
		name: "cardctl", platforms: append(linux[:2:2], platform{"darwin", "amd64"}, platform{"darwin", "arm64"}),
		description: "Explains what the quotas of Volcano's queues do",
		helper:      helper{name: "cardctl-mcp", directory: "cmd/mcp"},
	},
}

// binary is a built program, with the versions that the go command recorded in it.
type binary struct {
	program
	platform
	versions
	path         string
	dependencies []dependency // of the program and its helper
}

// versions are the versions of a binary.
type versions struct {
	release string // of this module; devel if the source is no clone with git
	commit  string // unknown if the source is no clone with git
	volcano string // for example v1.14.1
}

// build builds a program for the selected platforms.
func (o options) build(p program, platforms []platform) ([]binary, error) {
	var all []binary
	for _, on := range platforms {
		if !o.platforms.has(on.String()) {
			continue
		}

		b := binary{program: p, platform: on, path: filepath.Join(o.binaries, on.os+"-"+on.arch, p.name)}
		err := b.build(o.source)
		if err != nil {
			return nil, fmt.Errorf("building %s for %s: %w", p.name, on, err)
		}
		all = append(all, b)
	}

	return all, nil
}

// build builds the program of the repository in the directory source, and its helper.
func (b *binary) build(source string) error {
	info, err := b.compile(source, "./cmd/"+b.name, b.path)
	if err != nil {
		return err
	}

	b.versions = versionsOf(info)
	b.dependencies, err = dependenciesOf(source, info)
	if err != nil || b.helper.name == "" {
		return err
	}

	// The flags can name a mod file of the main module.
	info, err = b.compile(filepath.Join(source, b.helper.directory), ".", b.helperPath(), "GOFLAGS=")
	if err != nil {
		return err
	}
	more, err := dependenciesOf(source, info)
	b.dependencies = union(b.dependencies, more)
	return err
}

// helperPath returns the path of the helper, in the directory of the program.
func (b *binary) helperPath() string { return filepath.Join(filepath.Dir(b.path), b.helper.name) }

// compile builds a package in a directory, and returns its build information.
//
// -trimpath keeps the directories of this machine out of it, and without cgo it does not
// depend on the C compiler and library of this machine. The commit is recorded whatever
// GOFLAGS says.
func (b *binary) compile(directory, pkg, path string, environment ...string) (*debug.BuildInfo, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}

	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w", "-o", path, pkg)
	cmd.Dir = directory
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+b.os, "GOARCH="+b.arch)
	cmd.Env = append(cmd.Env, environment...)
	cmd.Stderr = os.Stderr
	err = cmd.Run()
	if err != nil {
		return nil, err
	}

	return buildinfo.ReadFile(path)
}

// files returns the program and its helper, as an archive and an image have them.
func (b *binary) files() ([]file, error) {
	content, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}

	files := []file{{b.name, 0o755, content}}
	if b.helper.name == "" {
		return files, nil
	}
	content, err = os.ReadFile(b.helperPath())
	return append(files, file{b.helper.name, 0o755, content}), err
}

func versionsOf(info *debug.BuildInfo) versions {
	found := versions{release: "devel", commit: "unknown"}
	if semver.IsValid(info.Main.Version) {
		found.release = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			found.commit = s.Value
		}
	}
	for _, d := range info.Deps {
		if d.Path == "volcano.sh/volcano" {
			found.volcano = d.Version
		}
	}

	return found
}

// timestamp returns the time in all files of a release: SOURCE_DATE_EPOCH, or the time of the
// commit.
func timestamp(source string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		output, err := exec.Command("git", "-C", source, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("reading the time of the commit: %w", err)
		}
		text = strings.TrimSpace(string(output))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}
