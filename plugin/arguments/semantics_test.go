package arguments

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/plugin/release"
)

// TestReleaseOf reads the argument semantics in builds that name their release, and in others.
func TestReleaseOf(t *testing.T) {
	built := release.Built()
	other := release.V1144
	if built == other {
		other = release.V1141
	}
	const unknown = `argument semantics: "v1.13" is not one of [v1.14.1 v1.14.4 v1.15 v1.16]`
	for name, test := range map[string]struct {
		given any
		told  bool
		want  release.Release
		wrong string
	}{
		"a fork with other rules":       {other.String(), false, other, ""},
		"an unknown release":            {"v1.13", false, built, unknown},
		"an unknown release, and a tag": {"v1.13", true, built, unknown},
		"the release of the build":      {built.String(), true, built, ""},
		"a Go program with other rules": {other, true, other, ""},
		"another release than the build": {other.String(), true, built, "argument semantics: " + other.String() +
			" is not " + built.String() + ", the release of Volcano that the program is built with"},
	} {
		r, err := releaseOf(test.given, test.told)
		assert.Equal(t, test.want, r, name)
		if test.wrong == "" {
			assert.NoError(t, err, name)
		} else {
			assert.EqualError(t, err, test.wrong, name)
		}
	}
}
