package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"golang.org/x/perf/benchmath"

	"github.com/capacity-card/capacity-card/bench/chart"
)

// The history has a line for each release: the measured value of each goal, in times of its
// base, and the times of a cycle. A cell is empty where a release did not measure it.
const (
	historyFile  = results + "/history.csv"
	historyChart = "history.svg"
)

// The columns in front of the goals.
const (
	releaseColumn = "release"
	commitColumn  = "commit"
	volcanoColumn = "volcano"
	cycleColumn   = "cycle with 1,000 queues in s: "
)

// history is the lines of the file, each by column, the oldest first.
type history struct {
	columns []string
	lines   []map[string]string
}

func readHistory(path string) (*history, error) {
	h := &history{columns: []string{releaseColumn, commitColumn, volcanoColumn}}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) == 0 {
		return h, nil
	}
	h.columns = rows[0]
	for _, row := range rows[1:] {
		line := map[string]string{}
		for i, column := range h.columns {
			line[column] = row[i]
		}
		h.lines = append(h.lines, line)
	}
	return h, nil
}

// put sets the line of a release to what was measured.
func (h *history) put(release string, s *set) {
	line := map[string]string{releaseColumn: release, commitColumn: s.config["commit"], volcanoColumn: s.config["volcano"]}
	set := func(column string, m benchmath.Summary, measured bool) {
		if !slices.Contains(h.columns, column) {
			h.columns = append(h.columns, column)
		}
		if measured {
			line[column] = strconv.FormatFloat(m.Center, 'g', 4, 64)
		}
	}
	for _, impl := range implementations {
		m, ok := s.median("Cycle/session=first/queues=1000/impl="+impl, timeUnit)
		set(cycleColumn+impl, m, ok)
	}
	for _, g := range goals {
		m, ok := g.ratio(s)
		set(g.title+", "+g.shape+": "+g.bound, m, ok)
	}
	if i := slices.IndexFunc(h.lines, func(l map[string]string) bool { return l[releaseColumn] == release }); i >= 0 {
		h.lines[i] = line
		return
	}
	h.lines = append(h.lines, line)
}

func (h *history) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	w := csv.NewWriter(file)
	rows := [][]string{h.columns}
	for _, line := range h.lines {
		var row []string
		for _, column := range h.columns {
			row = append(row, line[column])
		}
		rows = append(rows, row)
	}
	if err := w.WriteAll(rows); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return file.Close()
}

// chart draws the time of a cycle by release.
func (h *history) chart() (string, error) {
	drawn := chart.Bars{
		Title: "First cycle with 1,000 queues, by release",
		Y:     chart.Axis{Format: func(seconds float64) string { return quantity(seconds, timeUnit) }},
	}
	for _, impl := range implementations {
		drawn.Series = append(drawn.Series, chart.Series{Name: impl})
	}
	for _, line := range h.lines {
		var values []float64
		for _, impl := range implementations {
			if seconds, err := strconv.ParseFloat(line[cycleColumn+impl], 64); err == nil {
				values = append(values, seconds)
			}
		}
		if len(values) < len(implementations) {
			continue
		}
		drawn.Categories = append(drawn.Categories, line[releaseColumn])
		for i, v := range values {
			drawn.Series[i].Values = append(drawn.Series[i].Values, v)
		}
	}
	if len(drawn.Categories) == 0 {
		return "", fmt.Errorf("%s: no release has cycles of all implementations", historyFile)
	}
	return drawn.SVG()
}

// record writes the line of a release, from what was measured last.
func record(release string) error {
	s, err := readFile(latest)
	if err != nil {
		return err
	}
	h, err := readHistory(historyFile)
	if err != nil {
		return err
	}
	h.put(release, s)
	if err := h.write(historyFile); err != nil {
		return err
	}
	return write()
}
