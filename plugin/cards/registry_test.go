package cards

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// TestRenewNamesResolvesSelectors makes the next session resolve all selectors again,
// even if it has as many names as before.
func TestRenewNamesResolvesSelectors(t *testing.T) {
	r := NewRegistry()
	r.names = 7
	r.RenewNames(func(d fastres.Dim) fastres.Dim { return d })
	assert.Zero(t, r.names)
}

// TestRenewNamesReadsPodsAgain renews the names, which gives resources other numbers. A pod with an unchanged object
// keeps its requests, and a resource of cards stays a resource of cards.
func TestRenewNamesReadsPodsAgain(t *testing.T) {
	f := newFixture().queue("q", "", `{}`)
	for _, name := range []string{"z.com/gpu", "a.com/gpu"} { // which get their numbers in this order
		f.Nodes = append(f.Nodes, workload.Node{Name: name, Labels: map[string]string{name + ".product": "P-" + name}, Allocatable: workload.Resources{name: 8}})
		f.open(t)
	}
	task := api.NewTaskInfo(pod("", workload.Resources{"z.com/gpu": 1}))
	f.Read(task)
	requested := func() (resources []string) {
		_, p := f.read("q", task.Pod)
		for r := range f.Requests(p) {
			resources = append(resources, f.ResourceName(r.Resource))
		}
		return resources
	}
	assert.Equal(t, []string{"z.com/gpu"}, requested())
	for range 2 {
		f.Nodes = nil
		old := f.names
		f.names = &index.Names{}
		f.registry.RenewNames(func(d fastres.Dim) fastres.Dim { return f.names.InternCard(old.Name(d)) })
		f.open(t)
		assert.Equal(t, []string{"z.com/gpu"}, requested())
	}
}
