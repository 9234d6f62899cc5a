package index_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/index"
)

// placements parses queues, written as "name", "name path" or "name path weights".
func placements(queues ...string) []index.Placement {
	var all []index.Placement
	for _, queue := range queues {
		words := append(strings.Split(queue, " "), "", "")
		all = append(all, index.Placement{Queue: words[0], Path: words[1], Weights: words[2]})
	}
	return all
}

func TestPlace(t *testing.T) {
	tests := []struct {
		name     string
		queues   []string
		want     []string // outline
		weights  map[string]float64
		problems map[string]string
	}{
		{"names without a queue", []string{"prod root/eng/prod 1/6/8", "dev root/eng/dev 1/6/2", "sales root/biz/sales 1/4/1"},
			[]string{"root", "root/biz<root", "root/eng<root", "dev<root/eng<root leaf", "prod<root/eng<root leaf", "sales<root/biz<root leaf"},
			map[string]float64{"root/biz": 4, "root/eng": 6, "dev": 2, "prod": 8, "sales": 1}, nil},
		{"an inner name with a queue", []string{"root", "prod root/eng/prod 1/6/8", "root-eng root/eng 1/6"},
			[]string{"root", "root-eng<root", "prod<root-eng<root leaf"}, map[string]float64{"root-eng": 6, "prod": 8}, nil},
		{"a queue without annotations is below the root and has no weight", []string{"root", "default", "prod root/eng/prod 1/6/8"},
			[]string{"root", "default<root leaf", "root/eng<root", "prod<root/eng<root leaf"}, map[string]float64{"root/eng": 6, "prod": 8}, nil},
		{"without weights, every weight is 1", []string{"prod root/eng/prod"},
			[]string{"root", "root/eng<root", "prod<root/eng<root leaf"}, map[string]float64{"root/eng": 1, "prod": 1}, nil},
		{"weights need not be whole", []string{"prod root/prod 1/0.25"}, []string{"root", "prod<root leaf"}, map[string]float64{"prod": 0.25}, nil},
		{"the same name below two parents", []string{"a root/x/same", "b root/y/same"},
			[]string{"root", "root/x<root", "root/y<root", "a<root/x<root leaf", "b<root/y<root leaf"},
			map[string]float64{"root/x": 1, "root/y": 1, "a": 1, "b": 1}, nil},
		{"a prefix of a name is another name", []string{"a root/eng", "b root/engine/b"},
			[]string{"root", "a<root leaf", "root/engine<root", "b<root/engine<root leaf"},
			map[string]float64{"a": 1, "root/engine": 1, "b": 1}, nil},
		{"the queue root has no other place", []string{"root root/eng", "a root/a"}, []string{"root", "a<root leaf"}, map[string]float64{"a": 1},
			map[string]string{"root": `annotation volcano.sh/hierarchy: "root/eng": this queue is the root itself`}},
		{"the queue root may name its own path", []string{"root root 1"}, []string{"root leaf"}, map[string]float64{}, nil},

		{"no root", []string{"bad eng/prod 6/8", "good root/eng/good 1/6/2"},
			[]string{"bad leaf broken", "root", "root/eng<root", "good<root/eng<root leaf"}, map[string]float64{"root/eng": 6, "good": 2},
			map[string]string{"bad": `annotation volcano.sh/hierarchy: "eng/prod" does not start with "root/"`}},
		{"a path of the root alone", []string{"bad root 1"}, []string{"bad leaf broken", "root leaf"}, map[string]float64{},
			map[string]string{"bad": `annotation volcano.sh/hierarchy: "root" does not start with "root/"`}},
		{"more weights than names", []string{"bad root/eng 1/6/8"}, []string{"bad leaf broken", "root leaf"}, map[string]float64{},
			map[string]string{"bad": `annotation volcano.sh/hierarchy-weights: "1/6/8" has 3 weights, but volcano.sh/hierarchy has 2 names`}},
		{"fewer weights than names", []string{"bad root/eng 1"}, []string{"bad leaf broken", "root leaf"}, map[string]float64{},
			map[string]string{"bad": `annotation volcano.sh/hierarchy-weights: "1" has 1 weights, but volcano.sh/hierarchy has 2 names`}},
		{"weights without a path", []string{"bad  1/6"}, []string{"bad leaf broken", "root leaf"}, map[string]float64{},
			map[string]string{"bad": `annotation volcano.sh/hierarchy-weights: there is no volcano.sh/hierarchy`}},
		{"an empty name", []string{"bad root//prod 1/6/8", "worse root/eng/ 1/6/8"}, []string{"bad leaf broken", "root leaf", "worse leaf broken"}, map[string]float64{},
			map[string]string{"bad": `annotation volcano.sh/hierarchy: "root//prod" has an empty name`,
				"worse": `annotation volcano.sh/hierarchy: "root/eng/" has an empty name`}},
		{"texts that are not weights", []string{"a root/a 1/x", "b root/b 1/0", "c root/c 1/-2", "d root/d 1/NaN", "e root/e 1/Inf", "f root/f 1/", "g root/g 1/3e9"},
			[]string{"a leaf broken", "b leaf broken", "c leaf broken", "d leaf broken", "e leaf broken", "f leaf broken", "g leaf broken", "root leaf"},
			map[string]float64{},
			map[string]string{"a": `annotation volcano.sh/hierarchy-weights: "x" is not a number above 0, and at most 2147483647`,
				"b": `annotation volcano.sh/hierarchy-weights: "0" is not`, "c": `annotation volcano.sh/hierarchy-weights: "-2" is not`,
				"d": `"NaN" is not`, "e": `"Inf" is not`, "f": `"" is not`, "g": `"3e9" is not`}},
		{"two queues with the same path", []string{"old root/eng/prod 1/6/8", "new root/eng/prod 1/5/1"},
			[]string{"new leaf broken", "root", "root/eng<root", "old<root/eng<root leaf"}, map[string]float64{"root/eng": 6, "old": 8},
			map[string]string{"new": `annotation volcano.sh/hierarchy: "root/eng/prod" is the path of queue "old"`}},
		{"a queue whose weights are bad on an inner path", []string{"root-eng root/eng 1/6/7", "prod root/eng/prod 1/6/8"},
			[]string{"root", "root-eng leaf broken", "root/eng<root", "prod<root/eng<root leaf"}, map[string]float64{"root/eng": 6, "prod": 8},
			map[string]string{"root-eng": `annotation volcano.sh/hierarchy-weights: "1/6/7" has 3 weights`}},
		{"the larger weight counts", []string{"a root/eng/a 1/5/6", "b root/eng/b 1/6/4", "c root/eng/c 1/5/1"},
			[]string{"root", "root/eng<root", "a<root/eng<root leaf", "b<root/eng<root leaf", "c<root/eng<root leaf"},
			map[string]float64{"root/eng": 6, "a": 6, "b": 4, "c": 1},
			map[string]string{"a": `annotation volcano.sh/hierarchy-weights: the weight of "root/eng" is 6, not 5`,
				"c": `annotation volcano.sh/hierarchy-weights: the weight of "root/eng" is 6, not 5`}},
		{"the weight of the queue itself counts", []string{"a root/eng/a 1/9/6", "root-eng root/eng 1/2"},
			[]string{"root", "root-eng<root", "a<root-eng<root leaf"}, map[string]float64{"root-eng": 2, "a": 6},
			map[string]string{"a": `annotation volcano.sh/hierarchy-weights: the weight of "root/eng" is 2, not 9`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			places := index.Place(placements(test.queues...), "root")
			assert.Equal(t, test.want, outline(index.BuildTree(places.Nodes, "root")))
			assert.Equal(t, test.weights, places.Weights)
			assert.Len(t, places.Problems, len(test.problems))
			for queue, want := range test.problems {
				assert.ErrorContains(t, places.Problems[queue], want, queue)
			}
		})
	}
}

// TestPlaceIsBounded places queues with very long paths and weights.
func TestPlaceIsBounded(t *testing.T) {
	deep := "root" + strings.Repeat("/x", 1000)
	long := "root/" + strings.Repeat("y", 200000)
	places := index.Place([]index.Placement{{Queue: "deep", Path: deep}, {Queue: "long", Path: long, Weights: "1/" + long}}, "root")
	assert.Len(t, places.Nodes, 2)
	for queue, err := range places.Problems {
		assert.Less(t, len(fmt.Sprint(err)), 500, queue)
	}
	tree := index.BuildTree(index.Place([]index.Placement{{Queue: "64", Path: "root" + strings.Repeat("/x", 63)}}, "root").Nodes, "root")
	assert.Equal(t, 63, tree.Depth(tree.Lookup("64")))
	assert.NoError(t, tree.Broken(tree.Lookup("64")))
}
