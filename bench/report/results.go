package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// The units of benchfmt.
const (
	timeUnit   = "sec/op"
	bytesUnit  = "B/op"
	allocsUnit = "allocs/op"
	keptUnit   = "kept-B/task"
	heapUnit   = "kept-B"
)

// set holds all results.
type set struct {
	// names are the benchmarks in the order of the output, without the number of
	// processors at their ends. With the log on, "log=3/" is in front.
	names  []string
	rows   []row                           // the benchmarks without their implementations
	values map[string]map[string][]float64 // name → unit → a value for each round
	config map[string]string               // of the first result
}

// row is a benchmark without its implementation, as a row of a table.
type row struct {
	name  string
	title string // of the table: the operation
	keys  string
	unit  string // of the figures
}

func readFile(path string) (*set, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return read(file, path)
}

func read(raw io.Reader, path string) (*set, error) {
	s := &set{values: map[string]map[string][]float64{}, config: map[string]string{}}

	r := benchfmt.NewReader(raw, path)
	for r.Scan() {
		switch record := r.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, record
		case *benchfmt.Result:
			s.add(record)
		}
	}

	if err := r.Err(); err != nil {
		return nil, err
	}
	if len(s.names) == 0 {
		return nil, fmt.Errorf("%s: no results", path)
	}
	if n, err := strconv.Atoi(s.config["rounds"]); err == nil {
		s.keepMedians(n)
	}
	return s, nil
}

// keepMedians keeps the median of each round, where a round measures a benchmark several times.
func (s *set) keepMedians(rounds int) {
	for _, units := range s.values {
		for unit, values := range units {
			if len(values) <= rounds || len(values)%rounds != 0 {
				continue
			}

			var medians []float64
			for round := range slices.Chunk(values, len(values)/rounds) {
				medians = append(medians, center(round))
			}
			units[unit] = medians
		}
	}
}

func (s *set) add(r *benchfmt.Result) {
	base, parts := r.Name.Parts()
	rest := string(bytes.Join(parts, nil))
	procs := ""
	if n := len(parts); n > 0 && parts[n-1][0] == '-' {
		rest = string(bytes.Join(parts[:n-1], nil))
		procs = string(parts[n-1][1:])
	}
	keys, _, _ := strings.Cut(rest, "/impl=")

	own := row{string(base) + keys, string(base), strings.TrimPrefix(keys, "/"), timeUnit}
	if level := r.GetConfig("log"); level != "" {
		own.name = "log=" + level + "/" + own.name
		own.title += ", log at -v=" + level
	}
	if _, ok := r.Value(keptUnit); ok {
		own.unit = keptUnit
	}
	if !slices.ContainsFunc(s.rows, func(r row) bool { return r.name == own.name }) {
		s.rows = append(s.rows, own)
	}

	name := own.name + strings.TrimPrefix(rest, keys)
	if len(s.names) == 0 {
		for _, c := range r.Config {
			s.config[c.Key] = string(c.Value)
		}
		s.config["procs"] = procs
	}

	units := s.values[name]
	if units == nil {
		units = map[string][]float64{}
		s.values[name] = units
		s.names = append(s.names, name)
	}
	for _, v := range r.Values {
		units[v.Unit] = append(units[v.Unit], v.Value)
	}
}

// median summarizes a series; ok reports whether there is one.
func (s *set) median(name, unit string) (m benchmath.Summary, ok bool) {
	return summarize(s.values[name][unit])
}

// ratio returns how many times more the base takes than ours, round by round.
func (s *set) ratio(base, ours, unit string) (m benchmath.Summary, ok bool) {
	x := s.values[base][unit]
	y := s.values[ours][unit]

	var ratios []float64
	for i := range min(len(x), len(y)) {
		if y[i] != 0 {
			ratios = append(ratios, x[i]/y[i])
		}
	}
	return summarize(ratios)
}
