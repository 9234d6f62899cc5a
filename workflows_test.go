package capacitycard_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestWorkflows expects the workflows to run nothing but targets of the Makefile, which
// contributors can run as well, and to name actions by their commits.
func TestWorkflows(t *testing.T) {
	pages, err := filepath.Glob(".github/workflows/*.yaml")
	if err != nil || len(pages) < 2 {
		t.Fatal(pages, err)
	}
	makefile := string(read(t, "Makefile"))
	pinned := regexp.MustCompile(`@[0-9a-f]{40}$`)
	target := regexp.MustCompile(`^(?:sudo -E env "PATH=\$PATH" )?make ([a-z0-9-]+)( |$)`)
	for _, page := range pages {
		var workflow struct {
			Jobs map[string]struct {
				Steps []struct{ Name, Uses, Run string }
			}
		}
		if err := yaml.Unmarshal(read(t, page), &workflow); err != nil {
			t.Fatal(page, err)
		}
		steps := 0
		for _, job := range workflow.Jobs {
			for _, step := range job.Steps {
				steps++
				if step.Uses != "" && !pinned.MatchString(step.Uses) {
					t.Errorf("%s uses %s by a name that can move", page, step.Uses)
				}
				if step.Run == "" || step.Name == "log in to the registries" {
					continue
				}
				named := target.FindStringSubmatch(step.Run)
				if named == nil || !strings.Contains(makefile, "\n.PHONY: "+named[1]+"\n") {
					t.Errorf("%s runs %q, which is no target of the Makefile", page, step.Run)
				}
			}
		}
		if steps < 5 {
			t.Errorf("%s has %d steps", page, steps)
		}
	}
}
