package index_test

import (
	"fmt"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// The parent of the queue prod is eng. The parent of sales does not exist.
func ExampleBuildTree() {
	tree := index.BuildTree([]index.Node{
		{Name: "prod", Parent: "eng"}, {Name: "dev", Parent: "eng"}, {Name: "eng"}, {Name: "sales", Parent: "biz"},
	}, index.RootName)

	for _, q := range tree.Path(tree.Lookup("prod")) {
		fmt.Println(tree.Name(q), "has depth", tree.Depth(q), "and is a leaf:", tree.IsLeaf(q))
	}
	fmt.Println(tree.Broken(tree.Lookup("sales")))
	// Output:
	// prod has depth 2 and is a leaf: true
	// eng has depth 1 and is a leaf: false
	// root has depth 0 and is a leaf: false
	// queue "sales": the parent queue does not exist: "biz"
}

// A what-if simulation evicts a task of 4 cpu from the queue prod. At the same time, the
// scheduler allocates a task of 2 cpu there.
func ExampleIndex_Version() {
	var ix index.Index
	ix.Reset(index.BuildTree([]index.Node{{Name: "prod"}}, index.RootName), int(fastres.FirstFree))
	prod := ix.Lookup("prod")
	ix.Mutable(prod).Set(fastres.CPU, 10_000)
	ix.RollUp()

	simulated := index.Over(ix.Version())
	for _, q := range simulated.Path(prod) {
		simulated.Mutable(q).Increase(fastres.CPU, -4_000)
	}
	for _, q := range ix.Path(prod) {
		ix.Mutable(q).Increase(fastres.CPU, 2_000)
	}
	fmt.Println("index:", ix.Allocated(ix.Root()).Get(fastres.CPU), "milliCPU")
	fmt.Println("overlay:", simulated.Allocated(ix.Root()).Get(fastres.CPU), "milliCPU")
	// Output:
	// index: 12000 milliCPU
	// overlay: 6000 milliCPU
}
