package quota_test

import (
	"fmt"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// cores returns a vector of cpu in cores.
func cores(n float64) fastres.Vector {
	x := fastres.NewVector(int(fastres.FirstFree))
	x.Set(fastres.CPU, 1000*n)
	return x
}

// The queue prod has room for a task of 4 cores, but its parent eng does not.
func ExampleAllocatable() {
	var ix index.Index
	ix.Reset(index.BuildTree([]index.Node{{Name: "prod", Parent: "eng"}, {Name: "eng"}}, index.RootName), int(fastres.FirstFree))
	for name, bound := range map[string]float64{"root": 100, "eng": 12, "prod": 20} {
		ix.RealCapability.Row(ix.Lookup(name)).CopyFrom(cores(bound))
	}
	prod := ix.Lookup("prod")
	quota.Charge(&ix, prod, cores(10))

	for _, request := range []float64{2, 4} {
		verdict := quota.Allocatable(&ix, &ix.RealCapability, prod, cores(request))
		fmt.Println(request, "cores:", verdict.Reason, ix.Name(verdict.Queue))
	}
	// Output:
	// 2 cores: Admitted prod
	// 4 cores: OverQuota eng
}

// The queue dev uses 60 cores and deserves 40. A task of another queue reclaims.
func ExampleVictims() {
	var ix index.Index
	ix.Reset(index.BuildTree([]index.Node{{Name: "dev"}, {Name: "prod"}}, index.RootName), int(fastres.FirstFree))
	dev := ix.Lookup("dev")
	ix.Deserved.Row(dev).CopyFrom(cores(40))
	ix.Guarantee.Row(dev).CopyFrom(cores(10))
	quota.Charge(&ix, dev, cores(60))

	var victims quota.Victims
	victims.Reset(&ix, &ix, &index.Names{})
	overlay := index.Over(&ix)
	victims.Begin(&overlay)
	for range 3 {
		fmt.Println("a task of 15 cores is a victim:", victims.Take(dev, cores(15), ix.Lookup("prod"), cores(50)))
	}
	// Output:
	// a task of 15 cores is a victim: true
	// a task of 15 cores is a victim: true
	// a task of 15 cores is a victim: false
}

// Three queues divide 120 cores by weight. One has a bound below its part, and one has a
// guarantee above it.
func ExampleDeservedByWeight() {
	var ix index.Index
	ix.Reset(index.BuildTree([]index.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}}, index.RootName), int(fastres.FirstFree))
	a, b, c := ix.Lookup("a"), ix.Lookup("b"), ix.Lookup("c")
	for q := range index.Queue(ix.Len()) {
		ix.RealCapability.Row(q).Fill(fastres.MaxQuantity)
	}
	ix.RealCapability.Row(a).CopyFrom(cores(20))
	ix.Guarantee.Row(b).CopyFrom(cores(34))
	weights := map[index.Queue]float64{a: 1, b: 1, c: 2}

	quota.DeservedByWeight(&ix, cores(120), func(q index.Queue, _ fastres.Dim) float64 { return weights[q] })
	for _, q := range []index.Queue{a, b, c} {
		fmt.Println(ix.Name(q), "deserves", ix.Deserved.Row(q).Get(fastres.CPU)/1000, "cores")
	}
	// Output:
	// a deserves 20 cores
	// b deserves 34 cores
	// c deserves 66 cores
}
