package serve

import (
	"cmp"
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
)

// historyPage is the content of the view Last hour.
type historyPage struct {
	Resources []string
	Resource  string
	Allocated *page.Chart
	For       *page.Chart // the jobs that wait for the card
	Waiting   *page.Chart
}

// mostCurves bounds the queues of a chart. The others are summed up.
const mostCurves = 8

// historyView shows what the leaf queues had of a card, how many jobs waited for it, and how many
// waited at all, in the last hour.
func historyView(q *request) (any, any, error) {
	p := &historyPage{Resources: resourcesOf(q.Model.Queues), Resource: q.query.Get("resource")}
	if p.Resource == "" && len(q.Stock.Cards) > 0 {
		p.Resource = q.mostUsed()
	}
	wanted, waits := q.wantedSeries()
	now := time.Now()
	if q.server.options.Source.Changed() == nil {
		now = q.Time // files have no time after they were read
	}
	allocated := q.server.keeper.history.Of(p.Resource, wanted, now)
	waiting := q.server.keeper.history.Waiting("", waits, now)
	classes := map[string]string{} // a queue has one colour in all charts
	p.Allocated, p.Waiting = chartOf(allocated, classes), chartOf(waiting, classes)
	all := append(allocated, waiting...)
	if p.Resource != "" {
		forCard := q.server.keeper.history.Waiting(p.Resource, waits, now)
		p.For = chartOf(forCard, classes)
		all = append(all, forCard...)
	}
	return p, document{Kind: "SeriesList", Items: all}, nil
}

// wantedSeries selects series: what leaf queues have, and the jobs that wait in any queue, or both in
// one queue and those below it.
func (q *request) wantedSeries() (allocated, waiting func(queue string) bool) {
	only := q.query.Get("queue")
	if only == "" {
		leaf := model.Leaves(q.Model.Queues)
		return func(queue string) bool { return leaf[queue] }, func(string) bool { return true }
	}
	below := map[string]bool{}
	for _, each := range model.Subtree(q.Model.Queues, only) {
		below[each.Queue] = true
	}
	return func(queue string) bool { return queue == only }, func(queue string) bool { return below[queue] }
}

// mostUsed is the card of which the largest part is charged.
func (q *request) mostUsed() string {
	most := q.Stock.Cards[0]
	for _, c := range q.Stock.Cards {
		if c.Charged*most.Allocatable > most.Charged*c.Allocatable {
			most = c
		}
	}
	return most.Card
}

// chartOf stacks series, those with the highest last value first, and sums up the others and what is
// of no queue. It adds their colours to classes.
func chartOf(all []model.Series, classes map[string]string) *page.Chart {
	last := func(s model.Series) float64 { return s.Points[len(s.Points)-1].Value }
	all = slices.DeleteFunc(slices.Clone(all), func(s model.Series) bool { return len(s.Points) == 0 })
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b model.Series) int { return cmp.Compare(last(b), last(a)) })
	var layers []page.Layer
	others := page.Layer{Class: page.Other, Values: make([]float64, len(all[0].Points))}
	summed := false
	for _, s := range all {
		layer := page.Layer{Name: s.Queue}
		for _, p := range s.Points {
			layer.Values = append(layer.Values, p.Value)
		}
		if s.Queue != "" && len(layers) < mostCurves {
			layers = append(layers, layer)
			continue
		}
		summed = true
		for j, v := range layer.Values {
			others.Values[j] += v
		}
	}
	colour(layers, classes)
	if summed {
		layers = append(layers, others)
	}
	chart := page.NewChart(layers)
	chart.From, chart.To = all[0].Points[0].Time, all[0].Points[len(all[0].Points)-1].Time
	return chart
}

// colour sets the colours of layers: those that their queues have already, or others. It goes by
// names, so that a queue keeps its colour when amounts change.
func colour(layers []page.Layer, classes map[string]string) {
	taken := map[string]bool{}
	var names []string
	for _, l := range layers {
		names = append(names, l.Name)
		taken[classes[l.Name]] = true
	}
	slices.Sort(names)
	for _, name := range names {
		for i := 1; classes[name] == ""; i++ { // there are more colours than layers
			if class := page.Class(i); !taken[class] {
				classes[name], taken[class] = class, true
			}
		}
	}
	for i := range layers {
		layers[i].Class = classes[layers[i].Name]
	}
}
