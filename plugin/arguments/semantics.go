package arguments

import (
	"fmt"
	"runtime/debug"
	"sync"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/release"
)

// told reports whether the build names the release of Volcano. Then nothing is left to an argument.
var told = sync.OnceValue(func() bool {
	build, ok := debug.ReadBuildInfo()
	return ok && release.Told(build)
})

// Release returns the release of Volcano that decides: the release that the program is built with, or where the build
// does not name it, the release that the argument semantics names. It returns an error for another value. A Go program
// may set the argument to a value of type release.Release, which holds with any build.
func Release(arguments framework.Arguments) (release.Release, error) {
	given, ok := arguments[Semantics]
	if !ok {
		return release.Built(), nil
	}
	return releaseOf(given, told())
}

// releaseOf returns the release that a value of the argument semantics names.
func releaseOf(given any, told bool) (release.Release, error) {
	r, inCode := given.(release.Release)
	if inCode {
		return r, nil
	}

	built := release.Built()
	r, err := release.Parse(fmt.Sprint(given))
	switch {
	case err != nil:
		return built, fmt.Errorf("argument %s: %w", Semantics, err)
	case told && r != built:
		return built, fmt.Errorf("argument %s: %s is not %s, the release of Volcano that the program is built with",
			Semantics, r, built)
	default:
		return r, nil
	}
}
