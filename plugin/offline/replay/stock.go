package replay

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/trace"
)

// Supply is a card of a cluster.
type Supply struct {
	Resource v1.ResourceName
	Cards    float64
	Largest  float64 // on one node
}

// Stock has the cards of a cluster by their names.
type Stock map[string]Supply

// Count counts the cards of nodes.
func Count(nodes []*v1.Node, labels card.Labels) Stock {
	stock := Stock{}
	for _, node := range nodes {
		for _, c := range card.OnNode(node, labels).Cards {
			s := stock[c.Name]
			s.Resource = c.Resource
			s.Cards += c.Milli.Cards()
			s.Largest = max(s.Largest, math.Floor(c.Milli.Cards()))
			stock[c.Name] = s
		}
	}
	return stock
}

// Any returns a card list for a pod that takes any card: all cards of the resource that the cluster has most of.
func (s Stock) Any() string {
	sums := map[v1.ResourceName]float64{}
	for _, supply := range s {
		sums[supply.Resource] += supply.Cards
	}

	var most v1.ResourceName
	for _, resource := range slices.Sorted(maps.Keys(sums)) {
		if most == "" || sums[resource] > sums[most] {
			most = resource
		}
	}

	var list card.List
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if s[name].Resource == most {
			list = append(list, name)
		}
	}
	return list.String()
}

// Fit checks that a cluster can run the jobs of a trace. The error is about names that the cluster does not have. Jobs
// that are too large are left out, with a note for each reason.
func Fit(jobs []trace.Job, queues []string, stock Stock) (fit []trace.Job, notes []string, err error) {
	if err := names("queue", jobs, queues, func(j *trace.Job) []string { return []string{j.Queue} }); err != nil {
		return nil, nil, err
	}

	cards := slices.Sorted(maps.Keys(stock))
	if err := names("card", jobs, cards, func(j *trace.Job) []string { return card.ParseList(j.Card) }); err != nil {
		return nil, nil, err
	}

	why := map[string]int{}
	var order []string
	for _, j := range jobs {
		what := stock.tooLarge(&j)
		if what == "" {
			fit = append(fit, j)
			continue
		}
		if why[what] == 0 {
			order = append(order, fmt.Sprintf("%s, such as %s/%s in line %d", what, j.Namespace, j.Name, j.Line))
		}
		why[what]++
	}

	for _, what := range order {
		reason, _, _ := strings.Cut(what, ", such as ")
		notes = append(notes, fmt.Sprintf("left out, because they never start: %d jobs: %s", why[reason], what))
	}
	return fit, notes, nil
}

// names returns an error if jobs have names of a kind that the cluster does not have.
func names(kind string, jobs []trace.Job, has []string, namesOf func(*trace.Job) []string) error {
	unknown := sets.New[string]()
	for i := range jobs {
		unknown.Insert(namesOf(&jobs[i])...)
	}
	unknown.Delete(has...)
	if len(unknown) == 0 {
		return nil
	}

	all := sets.List(unknown)
	for i, name := range all {
		all[i] = fmt.Sprintf("%q%s", name, index.DidYouMean(name, has))
	}

	const most = 10
	if more := len(all) - most; more > 0 {
		all = append(all[:most], fmt.Sprintf("and %d more", more))
	}

	return fmt.Errorf("the trace has a %s that the cluster does not have: %s "+
		"(the cluster has %s; a map gives names of the trace other ones)",
		kind, strings.Join(all, ", "), strings.Join(has, ", "))
}

// tooLarge returns why a job can never start, "" if it can.
func (s Stock) tooLarge(j *trace.Job) string {
	if j.Cards == 0 {
		return ""
	}

	largest, all := 0.0, 0.0
	resources := map[v1.ResourceName]bool{}
	for _, name := range s.list(j) {
		largest = max(largest, s[name].Largest)
		all += s[name].Cards
		resources[s[name].Resource] = true
	}

	switch {
	case len(resources) == 0:
		return "the nodes have no cards"
	case len(resources) > 1:
		return "the cards of the list do not share a resource name"
	case float64(j.Cards) > largest:
		return fmt.Sprintf("a pod requests more cards than any node has (%g)", largest)
	case float64(j.Minimum)*float64(j.Cards) > all:
		return fmt.Sprintf("the job needs more cards than the cluster has (%g)", all)
	}
	return ""
}

// list returns the card list of a job: Any for a job without one.
func (s Stock) list(j *trace.Job) card.List {
	if j.Card == "" {
		return card.ParseList(s.Any())
	}
	return card.ParseList(j.Card)
}
