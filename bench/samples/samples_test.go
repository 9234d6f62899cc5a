package samples

import (
	"os"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPackageOf(t *testing.T) {
	for function, want := range map[string]string{
		"k8s.io/api/core/v1.(*Pod).DeepCopy":                                    "k8s.io/api/core/v1",
		"volcano.sh/volcano/pkg/scheduler/api.NewResource":                      "volcano.sh/volcano/pkg/scheduler/api",
		"runtime.mallocgc":                                                      "runtime",
		"internal/runtime/maps.(*Map).getWithKey":                               "internal/runtime/maps",
		"example.com/a.Sort[go.shape.struct { example.com/b/c.Name string }]":   "example.com/a",
		"k8s.io/client-go/tools/cache.(*processorListener).run.func1.(*x).wait": "k8s.io/client-go/tools/cache",
	} {
		assert.Equal(t, want, packageOf(function), function)
	}
}

// TestPackages gives the time of Go's functions to the package that calls them.
func TestPackages(t *testing.T) {
	p := &profile.Profile{}
	sample := func(value int64, stack ...string) {
		s := &profile.Sample{Value: []int64{1, value}}
		for _, name := range stack {
			line := profile.Line{Function: &profile.Function{Name: name}}
			s.Location = append(s.Location, &profile.Location{Line: []profile.Line{line}})
		}
		p.Sample = append(p.Sample, s)
	}
	sample(40, "runtime.mallocgc", "a.io/inner.F", "b.io/outer.G", "a.io/inner.H")
	sample(30, "b.io/outer.G")
	sample(20, "runtime.scanobject", "runtime.gcBgMarkWorker.func2")
	sample(10, "type:.hash.a.io/inner.T")

	want := []Package{
		{"a.io/inner", 0.4, 0.4}, {"b.io/outer", 0.3, 0.7}, {collector, 0.2, 0.2}, {library, 0.1, 0.1},
	}
	assert.Equal(t, want, Packages(p))
	assert.Equal(t, "     own    below  package\n  40.0 %   40.0 %  a.io/inner\n  30.0 %   70.0 %  b.io/outer\n",
		Table(want, 0.3))
}

func TestRelative(t *testing.T) {
	working, err := os.Getwd()
	require.NoError(t, err)
	for file, want := range map[string]string{
		"/home/me/go/pkg/mod/volcano.sh/volcano@v1.14.1/pkg/a.go": "volcano.sh/volcano@v1.14.1/pkg/a.go",
		"/usr/local/go/src/runtime/mgc.go":                        "runtime/mgc.go",
		working + "/bench/cycle_test.go":                          "bench/cycle_test.go",
		"elsewhere.go":                                            "elsewhere.go",
	} {
		assert.Equal(t, want, relative(file))
	}
}
