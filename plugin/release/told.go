package release

import (
	"regexp"
	"runtime/debug"
)

// tagged matches the versions of releases: v1.15.1, and not a pseudo-version, (devel), or the v0.0.0 of a checkout.
var tagged = regexp.MustCompile(`^v[1-9][0-9]*\.[0-9]+\.[0-9]+$`)

// Told reports whether the information about a build names a release of Volcano. A fork or a checkout in its place has
// no such name, and neither has the scheduler that Volcano builds from a commit.
func Told(build *debug.BuildInfo) bool {
	for _, module := range append(build.Deps, &build.Main) {
		if module.Path == "volcano.sh/volcano" {
			return module.Replace == nil && tagged.MatchString(module.Version)
		}
	}
	return false
}
