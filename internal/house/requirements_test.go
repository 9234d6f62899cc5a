package house

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestModuleCanBeRequired builds a module that requires this one and nothing else. Its only
// replace directive stands for the release, which no proxy has. A replace directive of this
// module would have no effect there, and "go install …/cmd/cardctl@VERSION" refuses one.
func TestModuleCanBeRequired(t *testing.T) {
	for _, line := range strings.Split(string(read(t, "go.mod")), "\n") {
		if first, _, _ := strings.Cut(line, " "); first == "replace" || first == "exclude" {
			t.Errorf("go.mod has the directive %q", line)
		}
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	importer := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/importer\n\ngo 1.24.0\n\nrequire " + module + " v0.1.0\n\nreplace " + module + " => " + root + "\n",
		"go.sum": string(read(t, "go.sum")),
		"importer.go": "package importer\n\nimport \"" + module + "/plugin\"\n\n" +
			"// Register registers the plugins.\nfunc Register() { plugin.Register() }\n",
	} {
		if err := os.WriteFile(filepath.Join(importer, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, arguments := range [][]string{{"mod", "tidy"}, {"list", "-m", "all"}, {"build", "./..."}} {
		command := exec.Command("go", arguments...)
		command.Dir = importer
		command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(arguments, " "), err, lastLines(output, 20))
		}
	}
}

// lastLines returns the end of an output.
func lastLines(output []byte, n int) string {
	lines := bytes.Split(bytes.TrimSpace(output), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n")))
}
