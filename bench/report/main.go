package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/capacity-card/capacity-card/bench/load"
)

// The paths of files, from the root of the module.
const (
	page      = "BENCHMARKS.md"
	goalsPage = "docs/dev/GOALS.md"
	results   = "bench/results"
	latest    = results + "/latest.txt"
	others    = results + "/latest-%s.txt" // with another release of Volcano
	checked   = "bin/bench-check.txt"
	readme    = "README.md"
	picture   = "docs/scale.svg"
	loaded    = results + "/load.txt"
	grown     = results + "/scale.txt" // of large clusters
)

func main() {
	name := flag.String("measure", "", "measure first: quick, full, check, scale, tuning, peers, gate or calibrate")
	release := flag.String("record", "", "write the line of a release into the history")
	rounds := flag.Int("rounds", 0, "measure so many rounds; fewer than 6 give no intervals (default as planned)")
	flag.Parse()

	do := func() error { return run(*name, *rounds) }
	if *release != "" {
		do = func() error { return record(*release) }
	}

	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(name string, rounds int) error {
	switch name {
	case "":
		return write()
	case "peers":
		if err := measurePeers(cmp.Or(rounds, peersRounds)); err != nil {
			return err
		}
		return write()
	}

	volcano, err := release()
	if err != nil {
		return err
	}

	switch name {
	case "gate":
		return gate(volcano)
	case "calibrate":
		return calibrate(volcano)
	}

	path := latest
	switch {
	case name == "scale":
		path = grown
	case name == "tuning":
		path = tuningRaw
	case volcano != load.MainRelease:
		path = fmt.Sprintf(others, volcano)
		if name == "quick" {
			name = "other"
		}
	}

	p, ok := plans[name]
	if !ok {
		return fmt.Errorf("there is no plan %q", name)
	}
	if rounds > 0 {
		p.rounds = rounds
	}

	if name != "check" {
		if err := p.measure(path, volcano); err != nil {
			return err
		}
		return write()
	}
	if err := p.measure(checked, volcano); err != nil {
		return err
	}
	return check(checked)
}

// readAll reads the raw output with the main release, and with other releases.
func readAll() (main *set, rest []*set, err error) {
	paths, err := filepath.Glob(fmt.Sprintf(others, "*"))
	if err != nil {
		return nil, nil, err
	}

	for _, path := range append([]string{latest}, paths...) {
		read, err := readFile(path)
		if err != nil {
			return nil, nil, err
		}
		rest = append(rest, read)
	}
	return rest[0], rest[1:], nil
}

// pages returns the pages and charts that the raw output makes, by path.
func pages() (map[string]string, error) {
	set, rest, err := readAll()
	if err != nil {
		return nil, err
	}

	// Peers and large clusters need not be measured.
	rivals, err := readFile(peersRaw)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}

	files, err := render(set, rivals, rest...)
	if err != nil {
		return nil, err
	}

	h, err := readHistory(historyFile)
	if err != nil {
		return nil, err
	}
	charts := map[string]string{}
	charts[historyChart], err = h.chart()
	if err != nil {
		return nil, err
	}

	if err := addScale(files, set); err != nil {
		return nil, err
	}
	if err := addLarge(files, charts); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := addTuning(files); err != nil {
		return nil, err
	}
	if rivals != nil {
		if err := peersPages(rivals, files, charts); err != nil {
			return nil, err
		}
	}

	for name, svg := range charts {
		files[filepath.Join(results, name)] = svg
	}
	return files, nil
}

// addLarge adds the charts and the page of large clusters.
func addLarge(files, charts map[string]string) error {
	large, err := readFile(grown)
	if err != nil {
		return err
	}

	for name, curve := range large.largeCurves() {
		charts[name], err = curve.chart()
		if err != nil {
			return err
		}
	}
	files[scalePage] = contents{set: large}.largePage()
	return nil
}

// addScale adds the picture of the README, and the README with its figures.
func addScale(files map[string]string, set *set) error {
	cluster, err := load.Read[load.Result](loaded)
	if err != nil {
		return err
	}

	scale, err := newScale(set, cluster)
	if err != nil {
		return err
	}

	files[picture], err = scale.svg()
	if err != nil {
		return err
	}
	return intoFile(files, readme, func(old string) (string, error) { return into(old, scale.sentences()) })
}

// addTuning adds the page about the settings of Volcano.
func addTuning(files map[string]string) error {
	cycles, err := readFile(tuningRaw)
	if err != nil {
		return err
	}

	whole, err := load.Read[load.Result](tunedRaw)
	if err != nil {
		return err
	}
	return intoFile(files, tuningPage, contents{set: cycles}.tuningInto(whole))
}

// intoFile adds a page that contains the results.
func intoFile(files map[string]string, path string, change func(string) (string, error)) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files[path], err = change(string(old))
	return err
}

// write writes the pages and charts. Charts of former results go.
func write() error {
	files, err := pages()
	if err != nil {
		return err
	}

	old, err := filepath.Glob(results + "/*.svg")
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}

	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// check prints every goal, and fails if a goal is missed or not measured.
func check(path string) error {
	set, err := readFile(path)
	if err != nil {
		return err
	}

	failed := 0
	all := slices.Concat(userGoals, goals)
	for _, g := range all {
		o := g.outcome(set)
		fmt.Printf("%-6s  %s, %s: want %s, %s; measured %s, %s\n",
			o.verdict, g.title, g.shape, g.words, o.allocsWanted, o.measured.words, o.allocs)
		_, measured := g.measured(set)
		if o.verdict == missed || !measured {
			failed++
		}
	}

	if failed > 0 {
		return fmt.Errorf("%d of %d goals are missed or not measured", failed, len(all))
	}
	return nil
}
