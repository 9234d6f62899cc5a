package main

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// curve is an operation whose time or memory was measured for several sizes of one thing.
type curve struct {
	title string // "SessionOpen"
	axis  string // "queues"
	lines []line
}

// line is the medians of one implementation.
type line struct {
	name   string
	points []point
}

type point struct{ n, value float64 }

// curves finds the benchmarks whose names have a prefix and a key that counts, such
// as n= or queues=. What is in front of the key names the curve.
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
			i, all = len(all), append(all, curve{title: title, axis: axis})
		}
		all[i].add(impl, point{n, m.Center})
	}
	return slices.DeleteFunc(all, func(c curve) bool { return len(c.lines[0].points) < 2 })
}

// add adds a point in the order of n: make bench MODE=full measures sizes between those of make bench after them.
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

// exponent is the slope of the straight line through the points in a plot with
// logarithmic axes, by least squares: 0 where n does not matter, 1 where the costs
// are proportional to it. Two points are needed.
func (l line) exponent() (slope float64, ok bool) {
	var n, sx, sy, sxx, sxy float64
	for _, p := range l.points {
		x, y := math.Log(p.n), math.Log(p.value)
		n = n + 1
		sx = sx + x
		sy = sy + y
		sxx = sxx + x*x
		sxy = sxy + x*y
	}
	if spread := n*sxx - sx*sx; n >= 2 && spread > 0 {
		return (n*sxy - sx*sy) / spread, true
	}
	return 0, false
}
