package house

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// workflow is a file of .github/workflows.
type workflow struct {
	Jobs map[string]struct {
		Steps []struct{ Name, Uses, Run string }
	}
}

// TestWorkflows expects the workflows to run only targets of the Makefile, which contributors can run as well, and to
// name actions by their commits.
func TestWorkflows(t *testing.T) {
	pages, err := filepath.Glob(".github/workflows/*.yaml")
	if err != nil || len(pages) < 2 {
		t.Fatal(pages, err)
	}
	makefile := string(read(t, "Makefile"))
	pinned := regexp.MustCompile(`@[0-9a-f]{40}$`)
	target := regexp.MustCompile(`^(?:sudo -E env "PATH=\$PATH" )?make ([a-z0-9-]+)( |$)`)
	for _, page := range pages {
		steps := 0
		for _, job := range readWorkflow(t, page).Jobs {
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

func readWorkflow(t *testing.T, page string) (w workflow) {
	t.Helper()
	if err := yaml.Unmarshal(read(t, page), &w); err != nil {
		t.Fatal(page, err)
	}
	return w
}

// TestRunsAgree expects .ci/run and the workflow of pull requests to run the same commands, but
// for govulncheck, which needs the network, and the platforms of the release.
func TestRunsAgree(t *testing.T) {
	command, platforms := regexp.MustCompile(`(?m)^(?:sudo .*" )?(make .*)$`), regexp.MustCompile(` PLATFORMS=.*$`)
	var local, hosted []string
	for _, found := range command.FindAllStringSubmatch(string(read(t, ".ci/run")), -1) {
		local = append(local, platforms.ReplaceAllString(found[1], ""))
	}
	for _, job := range readWorkflow(t, ".github/workflows/ci.yaml").Jobs {
		for _, step := range job.Steps {
			if found := command.FindStringSubmatch(step.Run); found != nil && found[1] != "make govulncheck" {
				hosted = append(hosted, found[1])
			}
		}
	}
	slices.Sort(local)
	slices.Sort(hosted)
	if !slices.Equal(local, hosted) {
		t.Errorf(".ci/run runs %q, and ci.yaml runs %q", local, hosted)
	}
	for _, target := range []string{"make charts", "make licenses", "make release VERSION=v0.0.0", "make test"} {
		if !slices.Contains(local, target) {
			t.Errorf(".ci/run does not run %q", target)
		}
	}
}

// TestIssueForms expects the forms for issues to have the fields that GitHub requires, or GitHub does not show them.
// The form of a defect must send vulnerabilities to SECURITY.md.
func TestIssueForms(t *testing.T) {
	forms, err := filepath.Glob(".github/ISSUE_TEMPLATE/*.yml")
	require.NoError(t, err)
	require.NotEmpty(t, forms)
	for _, path := range forms {
		var form struct {
			Name, Description string
			Labels            []string
			Body              []struct {
				Type, ID    string
				Attributes  struct{ Label, Description, Value, Render string }
				Validations struct{ Required bool }
			}
		}
		require.NoError(t, yaml.UnmarshalStrict(read(t, path), &form), path)
		assert.NotEmpty(t, form.Name, path)
		assert.NotEmpty(t, form.Description, path)
		inputs := map[string]bool{}
		for _, element := range form.Body {
			if element.Type == "markdown" {
				assert.NotEmpty(t, element.Attributes.Value, path)
				continue
			}
			assert.NotEmpty(t, element.Attributes.Label, "%s: %s", path, element.ID)
			assert.False(t, inputs[element.ID], "%s: two inputs have the id %q", path, element.ID)
			inputs[element.ID] = true
		}
		assert.NotEmpty(t, inputs, path)
	}
	assert.Contains(t, string(read(t, ".github/ISSUE_TEMPLATE/defect.yml")), "SECURITY.md")
}
