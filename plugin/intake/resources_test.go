package intake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

const gpuName = "nvidia.com/gpu"

// read returns a resource list as a vector in which gpuName has the first free
// dimension, and the names without a dimension.
func read(list v1.ResourceList) (fastres.Vector, []string) {
	names := &index.Names{}
	names.Intern(gpuName)
	r := reader{dims: &Dimensions{names: names, scalars: true, length: 8, ignored: api.IgnoredDevicesList.List()}}
	x := fastres.NewVector(8)
	r.addList(x, list)
	return x, r.missing
}

// TestNamesOfJobsAreBounded has more names than jobs may add. The last ones in the order of names have no dimension.
func TestNamesOfJobsAreBounded(t *testing.T) {
	names := &index.Names{}
	var missing []string
	for i := range 2 * MostNames {
		missing = append(missing, fmt.Sprintf("example.com/%04d", i), fmt.Sprintf("example.com/%04d", i))
	}
	assert.False(t, internRequested(names, missing))
	assert.Equal(t, MostNames, names.Len())
	assert.True(t, internRequested(names, missing), "there is nothing more to give")
	_, known := names.Lookup("example.com/0000")
	assert.True(t, known)
	_, known = names.Lookup(fmt.Sprintf("example.com/%04d", MostNames))
	assert.False(t, known)
}

// TestGroupsAreBounded has lists of groups.
func TestGroupsAreBounded(t *testing.T) {
	many := strings.Repeat("g,", mostGroups)
	assert.Equal(t, []string{"a", "b"}, groupsIn(" a,, b "))
	assert.Equal(t, []string{""}, groupsIn(" , "))
	assert.Len(t, groupsIn(many), mostGroups)
	assert.Equal(t, []string{""}, groupsIn(many+"g"))
}

// TestHugeQuantities reads quantities above the range of milli-units. They saturate.
func TestHugeQuantities(t *testing.T) {
	digits := resource.MustParse("1e2000000000") // more than fit into memory
	for _, list := range []v1.ResourceList{
		{v1.ResourceCPU: resource.MustParse("9E"), v1.ResourceMemory: resource.MustParse("100E"), gpuName: resource.MustParse("1e30")},
		{v1.ResourceCPU: digits, v1.ResourceMemory: digits, gpuName: digits},
	} {
		x, _ := read(list)
		for _, d := range []fastres.Dim{fastres.CPU, fastres.Memory, fastres.FirstFree} {
			assert.Equal(t, float64(1<<63), x.Get(d), "dimension %d", d)
		}
	}
}

// TestNegativeQuantities reads negative quantities as 0, and as present.
func TestNegativeQuantities(t *testing.T) {
	x, _ := read(v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("-1"), v1.ResourceMemory: resource.MustParse("-1Gi"),
		v1.ResourcePods: resource.MustParse("-1e2000000000"), gpuName: resource.MustParse("-2"),
	})
	for d := range fastres.FirstFree + 1 {
		assert.True(t, x.Has(d), "dimension %d", d)
		assert.Zero(t, x.Get(d), "dimension %d", d)
	}
}

// TestNegativeRequests reads negative requests as 0, so they give no room to others.
func TestNegativeRequests(t *testing.T) {
	names := &index.Names{}
	names.Intern(gpuName)
	d := &Dimensions{names: names, scalars: true, length: 8}
	negative := &api.Resource{MilliCPU: -1, Memory: -1, ScalarResources: map[v1.ResourceName]float64{v1.ResourcePods: -1, gpuName: -1}}
	x, r := fastres.NewVector(8), reader{dims: d}
	assert.True(t, d.Set(x, negative))
	for range 2 {
		for d := range fastres.FirstFree + 1 {
			assert.Zero(t, x.Get(d), "dimension %d", d)
		}
		r.add(x, negative)
	}
}

// TestListsMirrorResource reads a list as api.NewResource does: with the same units,
// and without the resources that do not count in quotas.
func TestListsMirrorResource(t *testing.T) {
	list := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("1500m"), v1.ResourceMemory: resource.MustParse("3Gi"), v1.ResourcePods: resource.MustParse("7"),
		gpuName: resource.MustParse("2"), "count/jobs.batch": resource.MustParse("9"), "storage": resource.MustParse("1Gi"),
	}
	x, missing := read(list)
	want := api.NewResource(list)
	assert.Empty(t, missing)
	assert.Equal(t, want.MilliCPU, x.Get(fastres.CPU))
	assert.Equal(t, want.Memory, x.Get(fastres.Memory))
	assert.Equal(t, want.ScalarResources, map[v1.ResourceName]float64{
		v1.ResourcePods: x.Get(fastres.Pods), gpuName: x.Get(fastres.FirstFree)})

	_, missing = read(v1.ResourceList{"example.com/new": resource.MustParse("1")})
	assert.Equal(t, []string{"example.com/new"}, missing)
}

// TestIgnoredDevices reads a device that Volcano ignores. It does not count, although
// its name has a dimension.
func TestIgnoredDevices(t *testing.T) {
	before := api.IgnoredDevicesList.List()
	defer api.IgnoredDevicesList.Set(before)
	api.IgnoredDevicesList.Set([]string{"example.com/other", gpuName})
	x, missing := read(v1.ResourceList{gpuName: resource.MustParse("2")})
	assert.Empty(t, missing)
	assert.False(t, x.Has(fastres.FirstFree))
}
