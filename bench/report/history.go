package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"golang.org/x/perf/benchmath"
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

// history holds the lines of the file, each by column, the oldest first.
type history struct {
	columns []string
	lines   []map[string]string
}

func readHistory(path string) (*history, error) {
	h := &history{columns: []string{releaseColumn, commitColumn, volcanoColumn}}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}

	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) == 0 {
		return h, nil
	}

	h.columns = rows[0]
	for _, row := range rows[1:] {
		line := map[string]string{}
		for k, column := range h.columns {
			line[column] = row[k]
		}
		h.lines = append(h.lines, line)
	}
	return h, nil
}

// put sets the line of a release to the measured values.
func (h *history) put(release string, s *set) {
	line := map[string]string{
		releaseColumn: release,
		commitColumn:  s.config["commit"],
		volcanoColumn: s.config["volcano"],
	}
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

	for _, g := range slices.Concat(userGoals, goals) {
		m, ok := g.measured(s)
		set(g.title+", "+g.shape+": "+g.words, m, ok)
	}

	at := slices.IndexFunc(h.lines, func(l map[string]string) bool { return l[releaseColumn] == release })
	if at >= 0 {
		h.lines[at] = line
		return
	}
	h.lines = append(h.lines, line)
}

func (h *history) write(path string) error {
	rows := [][]string{h.columns}
	for _, line := range h.lines {
		var row []string
		for _, column := range h.columns {
			row = append(row, line[column])
		}
		rows = append(rows, row)
	}

	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

// chart draws the time of a cycle by release.
func (h *history) chart() (string, error) {
	var releases []string
	values := map[string][]float64{}
	for _, line := range h.lines {
		lacks := func(impl string) bool { return line[cycleColumn+impl] == "" }
		if slices.ContainsFunc(implementations, lacks) {
			continue
		}

		releases = append(releases, line[releaseColumn])
		for _, impl := range implementations {
			seconds, err := strconv.ParseFloat(line[cycleColumn+impl], 64)
			if err != nil {
				return "", fmt.Errorf("%s: %w", historyFile, err)
			}

			values[impl] = append(values[impl], seconds)
		}
	}

	if len(releases) == 0 {
		return "", fmt.Errorf("%s: no release has cycles of all implementations", historyFile)
	}
	return bars("First cycle with 1,000 queues, by release", releases, values)
}

// record writes the line of a release, from the last results.
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
