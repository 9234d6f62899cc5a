package fuzz

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
)

// FuzzTree builds trees with any parents, which include cycles and unknown parents. It
// compares paths with the oracle, and checks the invariants of package index.
func FuzzTree(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := workload.Bytes(data)
		w := &world{t: t, ix: &index.Index{}}
		from := oracle.Cluster{Root: "q0"}
		var nodes []index.Node
		for i := range 1 + r.IntN(32) {
			q := oracle.Queue{Name: fmt.Sprintf("q%d", i), Parent: fmt.Sprintf("q%d", r.IntN(40))}
			if r.IntN(8) == 0 {
				q.Parent = ""
			}
			if r.IntN(16) == 0 {
				q.Name = fmt.Sprintf("q%d", r.IntN(4)) // a repeated name, or q0 after others
			}
			from.Queues = append(from.Queues, q)
			nodes = append(nodes, index.Node{Name: q.Name, Parent: q.Parent})
		}
		w.oracle = oracle.New(from)
		w.ix.Reset(index.BuildTree(nodes, from.Root), 8)
		for _, name := range w.oracle.Names() {
			w.comparePath(name)
			q := w.number(name)
			if w.oracle.Broken(name) != (w.ix.Broken(q) != nil) || w.oracle.Leaf(name) != w.ix.IsLeaf(q) {
				t.Errorf("%s: broken %v, leaf %t", name, w.ix.Broken(q), w.ix.IsLeaf(q))
			}
			var children []string
			for _, child := range w.ix.Children(q) {
				children = append(children, w.ix.Name(child))
			}
			slices.Sort(children)
			if !slices.Equal(children, w.oracle.Children(name)) {
				t.Errorf("the children of %s are %v, and %v in the oracle", name, children, w.oracle.Children(name))
			}
			if p := w.ix.Parent(q); p >= q {
				t.Errorf("%s has number %d, its parent %d", name, q, p)
			}
		}
		w.ix.RollUp()
	})
}

// FuzzPlaces builds trees from good and bad annotations. It compares parents and weights
// with the oracle.
func FuzzPlaces(f *testing.F) {
	seeds(f)
	words := []string{"eng", "biz", "prod", "dev", "eng2", "", " ", "root", "a b", "ü"}
	numbers := []string{"1", "2", "8", "0.5", "1e3", "0", "-1", "x", "", "NaN", "Inf", "0x10", "1_0", "3000000000"}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := workload.Bytes(data)
		var placements []index.Placement
		var annotated []oracle.Annotated
		for i := range 1 + r.IntN(10) {
			q := index.Placement{Queue: fmt.Sprintf("q%d", i)}
			if r.IntN(10) == 0 {
				q.Queue = "root"
			}
			names, weights := []string{"root"}, []string{"1"}
			if r.IntN(16) == 0 {
				names[0] = "leaf"
			}
			for range r.IntN(4) { // mostly good ones
				names = append(names, words[min(r.IntN(len(words)), r.IntN(len(words)))])
				weights = append(weights, numbers[min(r.IntN(len(numbers)), r.IntN(len(numbers)))])
			}
			if r.IntN(16) == 0 {
				weights = append(weights, "1")
			}
			if r.IntN(8) > 0 {
				q.Path = strings.Join(names, "/")
			}
			if r.IntN(4) > 0 {
				q.Weights = strings.Join(weights, "/")
			}
			if i := slices.IndexFunc(placements, func(p index.Placement) bool { return p.Queue == q.Queue }); i < 0 {
				placements = append(placements, q)
				annotated = append(annotated, oracle.Annotated{Name: q.Queue, Path: q.Path, Weights: q.Weights})
			}
		}
		places := index.Place(placements, "root")
		tree := index.BuildTree(places.Nodes, "root")
		want := oracle.Places(annotated)
		if tree.Len() != len(want) {
			t.Fatalf("%d nodes, and %d in the oracle: %v", tree.Len(), len(want), want)
		}
		for name, place := range want {
			got := oracle.Place{Weight: places.Weights[name]}
			q := tree.Lookup(name)
			if q == index.None {
				t.Fatalf("%s does not exist, but in the oracle it is %v", name, place)
			}
			if p := tree.Parent(q); p != index.None {
				got.Parent = tree.Name(p)
			}
			if got.Lost = tree.Broken(q) != nil; got != place {
				t.Fatalf("%s is %v, and %v in the oracle: %v", name, got, place, placements)
			}
			if place.Lost && places.Problems[name] == nil {
				t.Fatalf("%s has no place and no problem", name)
			}
		}
	})
}

// FuzzPlace places a queue with any annotations. A good queue next to it keeps its place.
func FuzzPlace(f *testing.F) {
	for _, each := range [][2]string{{"root/eng/prod", "1/6/8"}, {"eng/prod", "6/8"}, {"root//", "//"}, {"root/good", "1/1"}, {"root", ""}, {"", "1"}, {"/", "/"}} {
		f.Add(each[0], each[1])
	}
	f.Fuzz(func(t *testing.T, path, weights string) {
		places := index.Place([]index.Placement{{Queue: "good", Path: "root/good", Weights: "1/2"}, {Queue: "other", Path: path, Weights: weights}}, "root")
		tree := index.BuildTree(places.Nodes, "root")
		if good := tree.Lookup("good"); tree.Broken(good) != nil || tree.Parent(good) != tree.Root() || places.Weights["good"] != 2 {
			t.Errorf("the path of the good queue is %v, and its weight %v", tree.Path(good), places.Weights["good"])
		}
		other := tree.Lookup("other")
		if weight := places.Weights["other"]; weight < 0 || math.IsNaN(weight) || math.IsInf(weight, 0) || tree.Len() > 70 {
			t.Errorf("weight %v, %d nodes", weight, tree.Len())
		}
		if (tree.Broken(other) != nil) && places.Problems["other"] == nil {
			t.Error("the queue has no place and no problem")
		}
	})
}
