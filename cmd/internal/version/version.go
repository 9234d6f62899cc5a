// Package version describes which release of a program runs, as the go command recorded it
// when it built the program.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	_ "unsafe" // for go:linkname

	_ "k8s.io/client-go/pkg/version" // has the variables below

	"github.com/capacity-card/capacity-card/plugin/release"
)

// Info holds the versions of a program. A version that the build did not record is unknown.
type Info struct {
	Release    string `json:"release"` // of this module
	Commit     string `json:"commit"`
	Volcano    string `json:"volcano"`
	Rules      string `json:"rules"` // the release of Volcano with the default rules of the quota plugins
	Kubernetes string `json:"kubernetes"`
	Go         string `json:"go"`
}

const unknown = "unknown"

// Of returns the versions of this program.
func Of() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return from(build)
}

func from(build *debug.BuildInfo) Info {
	info := Info{
		Release:    unknown,
		Commit:     unknown,
		Volcano:    unknown,
		Rules:      release.Built().String(),
		Kubernetes: unknown,
		Go:         runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
	}

	if v := build.Main.Version; v != "" && v != "(devel)" {
		info.Release = v
	}

	changed := ""
	for _, s := range build.Settings {
		switch {
		case s.Key == "vcs.revision":
			info.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " with changes"
		}
	}
	info.Commit += changed

	for _, d := range build.Deps {
		if d.Replace != nil {
			d = d.Replace
		}

		switch d.Path {
		case "volcano.sh/volcano":
			info.Volcano = d.Version
		case "k8s.io/kubernetes":
			info.Kubernetes = d.Version
		}
	}
	return info
}

// Text describes the versions of a program in lines.
func (i Info) Text(program string) string {
	return fmt.Sprintf("%s %s\ncommit      %s\nVolcano     %s, rules of %s\nKubernetes  %s\nGo          %s\n",
		program, i.Release, i.Commit, i.Volcano, i.Rules, i.Kubernetes, i.Go)
}

// The version and the commit in the User-Agent of all clients of this program. client-go
// takes them from these variables, which are meant for the linker. Volcano makes the clients
// of the scheduler, and sets no User-Agent.
var (
	//go:linkname clientVersion k8s.io/client-go/pkg/version.gitVersion
	clientVersion string
	//go:linkname clientCommit k8s.io/client-go/pkg/version.gitCommit
	clientCommit string
)

// SetUserAgent sets the version and the commit in the User-Agent of clients that are made
// after it, such as cardctl/v1.2.0 (linux/amd64) kubernetes/8a7c2f1. client-go cuts a
// version at its first hyphen.
func (i Info) SetUserAgent() {
	if i.Release != unknown {
		clientVersion = i.Release
	}
	if i.Commit != unknown {
		clientCommit, _, _ = strings.Cut(i.Commit, " ")
	}
}
