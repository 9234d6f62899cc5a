package assign_test

import (
	"fmt"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// The example of the package documentation: two queues, two cards, and pods that can use
// either card.
func ExampleAssigner_Feasible() {
	var names index.Names
	cards := []fastres.Dim{names.InternCard("A"), names.InternCard("B")}

	var ix index.Index
	ix.Reset(index.BuildTree([]index.Node{{Name: "q"}, {Name: "r"}}, index.RootName), names.Len())
	for name, room := range map[string][2]float64{"root": {2, 2}, "q": {2, 1}, "r": {1, 2}} {
		for i, card := range cards {
			ix.RealCapability.Row(ix.Lookup(name)).Set(card, 1000*room[i])
		}
	}
	pods := func(name string, n int) assign.Demand {
		return assign.Demand{Queue: ix.Lookup(name), Cards: cards, Size: 1000, Count: n}
	}

	var assigner assign.Assigner
	budget := assign.Budget(1000)
	given := []assign.Demand{pods("r", 2)}
	fmt.Println("two pods each:", assigner.Feasible(&ix, given, []assign.Demand{pods("q", 2)}, &budget) == assign.Yes)
	fmt.Println("a third pod of q:", assigner.Feasible(&ix, given, []assign.Demand{pods("q", 3)}, &budget) == assign.Yes)
	// Output:
	// two pods each: true
	// a third pod of q: false
}
