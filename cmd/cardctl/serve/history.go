package serve

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
)

// historyPage is the content of the view History.
type historyPage struct {
	Resources []string
	Resource  string
	Period    string
	Path      []string // the queues above the queue of the charts, from the root on
	Allocated *page.Chart
	For       *page.Chart // the jobs that wait for the card
	Waiting   *page.Chart
}

// mostCurves bounds the queues of a chart. The others are summed up.
const mostCurves = 8

// leastCards is less than any part of a card. A smaller amount comes from the rounding of sums.
const leastCards = 0.001

// periods are the times that a chart can show.
var periods = []struct {
	name string
	time time.Duration
}{
	{"5m", 5 * time.Minute},
	{"15m", 15 * time.Minute},
	{"1h", time.Hour},
	{"6h", 6 * time.Hour},
	{"24h", 24 * time.Hour},
}

// historyView shows the cards of queues below their bound, the number of jobs that waited for the card, and the number
// of all jobs that waited. The queues are below one queue, or all, as far down as there are colours for.
func historyView(q *request) (any, any, error) {
	p := &historyPage{Resources: resourcesOf(q.Model.Queues), Resource: q.query.Get("resource")}
	root := q.query.Get("queue")
	if root != "" && q.Queue(root) == nil {
		return nil, nil, fmt.Errorf("%w: there is no queue %q", errNotFound, root)
	}

	if p.Resource == "" && len(q.Stock.Cards) > 0 {
		p.Resource = q.mostUsed()
	}
	w := model.Window{Period: time.Hour, Now: q.now()}
	p.Period = "1h"
	for _, each := range periods {
		if each.name == q.query.Get("period") {
			p.Period = each.name
			w.Period = each.time
		}
	}

	if path := q.Model.Path(root); len(path) > 0 {
		p.Path = path[1:]
		slices.Reverse(p.Path)
	}

	history := q.server.keeper.history
	d := &drawing{request: q, classes: map[string]string{}}
	parts := func(card string, waiting bool) func(string) bool { return q.parts(root, history.Queues(card, waiting)) }
	whole := func(queue string) bool { return queue == root }
	p.Waiting = d.chart(history.Waiting("", parts("", true), w), history.Waiting("", whole, w))
	if card := p.Resource; card != "" {
		p.Allocated = d.chart(history.Of(card, parts(card, false), w), history.Of(card, whole, w))
		p.For = d.chart(history.Waiting(card, parts(card, true), w), history.Waiting(card, whole, w))
	}
	return p, list{Head: document.Of("SeriesList"), Items: d.all}, nil
}

// now returns the time at which the history ends. Files have no time after they were read.
func (q *request) now() time.Time {
	if q.server.options.Source.Changed() == nil {
		return q.Time
	}
	return time.Now()
}

// parts selects the queues of a chart, among the queues that have something in it.
func (q *request) parts(root string, has map[string]bool) func(queue string) bool {
	parts := model.Parts(q.Model.Queues, root, func(queue string) bool { return has[queue] }, mostCurves)
	return func(queue string) bool { return slices.Contains(parts, queue) }
}

// mostUsed returns the card with the largest charged part.
func (q *request) mostUsed() string {
	most := q.Stock.Cards[0]
	for _, c := range q.Stock.Cards {
		if c.Charged*most.Allocatable > most.Charged*c.Allocatable {
			most = c
		}
	}
	return most.Card
}

// drawing draws charts in which a queue has one colour.
type drawing struct {
	*request
	classes map[string]string
	all     []model.Series // of all charts
}

// chart stacks the series of parts, and the rest of the whole, below the bound of the whole. The highest last value
// comes first.
func (d *drawing) chart(parts, whole []model.Series) *page.Chart {
	if len(whole) == 0 {
		return nil
	}
	d.all = append(d.all, whole...)
	if len(parts) != 1 || parts[0].Queue != whole[0].Queue {
		d.all = append(d.all, parts...)
	}

	slices.SortStableFunc(parts, func(a, b model.Series) int { return cmp.Compare(b.Last(), a.Last()) })

	others := page.Layer{Class: page.Other, More: max(0, len(parts)-mostCurves)}
	var bounds []float64
	for _, p := range whole[0].Points {
		others.Values = append(others.Values, p.Value)
		bounds = append(bounds, p.Bound)
	}

	var layers []page.Layer
	for _, s := range parts[:min(len(parts), mostCurves)] {
		opens := s.Queue != whole[0].Queue && model.HasChildren(d.Model.Queues, s.Queue)
		layer := page.Layer{Name: s.Queue, Opens: opens}
		for j, p := range s.Points {
			layer.Values = append(layer.Values, p.Value)
			others.Values[j] -= p.Value
			if others.Values[j] < leastCards {
				others.Values[j] = 0
			}
		}
		layers = append(layers, layer)
	}
	colour(layers, d.classes)

	if others.More > 0 || slices.Max(others.Values) > 0 {
		layers = append(layers, others)
	}
	if len(layers) == 0 {
		return nil
	}

	chart := page.NewChart(layers, bounds)
	chart.From = whole[0].Points[0].Time
	chart.To = whole[0].Points[len(whole[0].Points)-1].Time
	return chart
}

// colour sets the colours of layers. Queues keep the colours that they have already. New colours go by names, so that
// a queue keeps its colour when amounts change.
func colour(layers []page.Layer, classes map[string]string) {
	taken := map[string]bool{}
	var names []string
	for _, l := range layers {
		names = append(names, l.Name)
		taken[classes[l.Name]] = true
	}

	slices.Sort(names)
	for _, name := range names {
		// There are more colours than layers.
		for i := 1; classes[name] == ""; i++ {
			if class := page.Class(i); !taken[class] {
				classes[name] = class
				taken[class] = true
			}
		}
	}

	for i := range layers {
		layers[i].Class = classes[layers[i].Name]
	}
}
