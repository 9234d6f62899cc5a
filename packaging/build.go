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
}

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
	},
}

// binary is a built program, with the versions that the go command recorded in it.
type binary struct {
	program
	platform
	versions
	path         string
	dependencies []dependency
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

// build builds the program of the repository in the directory source.
//
// -trimpath keeps the directories of this machine out of it, and without cgo it does not
// depend on the C compiler and library of this machine. The commit is recorded whatever
// GOFLAGS says.
func (b *binary) build(source string) error {
	path, err := filepath.Abs(b.path)
	if err != nil {
		return err
	}

	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w", "-o", path, "./cmd/"+b.name)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+b.os, "GOARCH="+b.arch)
	cmd.Stderr = os.Stderr
	err = cmd.Run()
	if err != nil {
		return err
	}

	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}

	b.versions = versionsOf(info)
	b.dependencies, err = dependenciesOf(source, info)
	return err
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
