package volcano

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// compare runs the suites in all configurations with both schedulers. It repeats the specs in which they differ.
func compare(
	ctx context.Context, r runner, suites []suite, chosen []configuration, specs string,
) (*results, error) {
	trials := r.trials(suites, chosen, specs)
	all := newResults()
	ended, err := r.run(ctx, trials)
	all.add(complete(ended))

	for attempt := 2; attempt <= 1+repeats; attempt++ {
		var again []trial
		for _, t := range trials {
			differing := all.differing(t.suite.name, t.configuration.name)
			if len(differing) > 0 {
				again = append(again, r.trial(t.suite, t.configuration, t.scheduler, attempt, pattern(differing)))
			}
		}
		if len(again) == 0 || err != nil {
			break
		}

		fmt.Printf("%d suites again, for the specs in which the schedulers differ\n", len(again))
		var repeated []finished
		repeated, err = r.run(ctx, again)
		all.add(complete(repeated))
	}

	return all, err
}

// trials returns the first trials of the suites in all configurations with both schedulers.
func (r runner) trials(suites []suite, chosen []configuration, specs string) (trials []trial) {
	for _, s := range suites {
		for _, c := range chosen {
			if s.once && c.name != configurations[0].name {
				continue
			}

			for _, scheduler := range []string{upstream, ours} {
				trials = append(trials, r.trial(s, c, scheduler, 1, specs))
			}
		}
	}

	return trials
}

// complete returns the trials that ended with both schedulers.
func complete(ended []finished) []finished {
	counterpart := func(f, other finished) bool {
		sameRun := other.suite.name == f.suite.name && other.configuration.name == f.configuration.name
		return sameRun && other.scheduler != f.scheduler
	}

	return slices.DeleteFunc(slices.Clone(ended), func(f finished) bool {
		return !slices.ContainsFunc(ended, func(other finished) bool { return counterpart(f, other) })
	})
}

// pattern returns a regular expression of exactly these specs. Ginkgo matches it after the description of the suite.
func pattern(specs []string) string {
	quoted := make([]string, len(specs))
	for i, spec := range specs {
		quoted[i] = regexp.QuoteMeta(duplicate.ReplaceAllString(spec, ""))
	}

	return " (?:" + strings.Join(quoted, "|") + ")$"
}

// duplicate matches the number at the end of a name that several specs have.
var duplicate = regexp.MustCompile(` \(\d+\)$`)
