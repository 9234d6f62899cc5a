package main

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// curve holds the time or memory of an operation for several sizes.
type curve struct {
	title string // "SessionOpen"
	axis  string // "queues"
	lines []line
}

// line holds the medians of one implementation.
type line struct {
	name   string
	points []point
}

type point struct{ n, value float64 }

// curves finds the benchmarks with a prefix and a key that counts in their names, such
// as n= or queues=. The part in front of the key names the curve.
func (s *set) curves(prefix, key, unit string) []curve {
	var all []curve
	for _, name := range s.names {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}

		front, back, _ := strings.Cut(rest, "/"+key+"=")
		size, impl, ok := strings.Cut(back, "/impl=")
		n, err := strconv.ParseFloat(size, 64)
		m, measured := s.median(name, unit)
		if !ok || err != nil || !measured {
			continue
		}

		title, axis, ok := strings.Cut(strings.TrimPrefix(front, "/"), "/axis=")
		if !ok {
			axis = key
		}
		title = title[strings.LastIndex(title, "=")+1:]
		if prefix != growth {
			title += " " + prefix // "first Cycle"
		}

		i := slices.IndexFunc(all, func(c curve) bool { return c.title == title && c.axis == axis })
		if i < 0 {
			i = len(all)
			all = append(all, curve{title: title, axis: axis})
		}
		all[i].add(impl, point{n, m.Center})
	}
	return slices.DeleteFunc(all, func(c curve) bool { return len(c.lines[0].points) < 2 })
}

// add adds a point in the order of n. make bench MODE=full measures sizes in between after the sizes of make bench.
func (c *curve) add(impl string, p point) {
	if c.line(impl) == nil {
		c.lines = append(c.lines, line{name: impl})
	}
	l := c.line(impl)
	i, _ := slices.BinarySearchFunc(l.points, p, func(a, b point) int { return cmp.Compare(a.n, b.n) })
	l.points = slices.Insert(l.points, i, p)
}

// line returns the line of an implementation, nil if there is none.
func (c *curve) line(impl string) *line {
	if i := slices.IndexFunc(c.lines, func(l line) bool { return l.name == impl }); i >= 0 {
		return &c.lines[i]
	}
	return nil
}

// exponent returns the slope of the straight line through the points in a plot with
// logarithmic axes, by least squares. It is 0 if the costs do not depend on n, and 1 if they
// are proportional to n. Two points are needed.
func (l line) exponent() (slope float64, ok bool) {
	var n, sx, sy, sxx, sxy float64
	for _, p := range l.points {
		x := math.Log(p.n)
		y := math.Log(p.value)
		n++
		sx += x
		sy += y
		sxx += x * x
		sxy += x * y
	}

	if spread := n*sxx - sx*sx; n >= 2 && spread > 0 {
		return (n*sxy - sx*sy) / spread, true
	}
	return 0, false
}

// exponents returns the exponent of the growth of ours in each round. The name is without the size.
func (s *set) exponents(name, unit string) (all []float64) {
	lines := map[int]*line{}
	for _, each := range s.names {
		size, isSize := strings.CutPrefix(each, name+"/n=")
		size, isOurs := strings.CutSuffix(size, oursOf)
		n, err := strconv.ParseFloat(size, 64)
		if !isSize || !isOurs || err != nil {
			continue
		}

		for round, value := range s.values[each][unit] {
			if lines[round] == nil {
				lines[round] = &line{}
			}
			lines[round].points = append(lines[round].points, point{n, value})
		}
	}

	for round := range len(lines) {
		if e, ok := lines[round].exponent(); ok {
			all = append(all, e)
		}
	}
	return all
}
