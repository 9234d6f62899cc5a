package upstreamtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// packageResult is the result of go test for one package.
type packageResult struct {
	verdict string
	output  []string
	tests   []*testResult
}

// testResult is the result of go test for one test or subtest. The verdict is empty
// where the test never ended.
type testResult struct {
	name    string
	verdict string
	output  []string
}

// event is a line of go test -json. Lines about a build have an ImportPath in
// place of the Package.
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// moduleDirs returns the directories of this module and of Volcano's, and whether that is a checkout.
func moduleDirs(t *testing.T) (root, volcano string, checkout bool) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{not (not .Replace)}}", ourModule, volcanoModule).Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) != 4 {
		t.Fatalf("go list -m: %v, got %q; run go mod download", err, out)
	}
	return words[0], words[2], words[3] == "true"
}

// runSuites runs all suites in one go test and returns the results by package.
func runSuites(t *testing.T, root string) map[string]*packageResult {
	t.Helper()
	ctx := context.Background()
	if deadline, ok := t.Deadline(); ok {
		// Ends before the panic of go test, so that the failure has a reason.
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-10*time.Second))
		defer cancel()
	}
	args := []string{"test", "-json", "-vet=off", "-p=2"}
	for _, s := range suites {
		args = append(args, s.importPath())
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, &stdout, &stderr
	cmd.WaitDelay = time.Second
	runErr := cmd.Run()
	if ctx.Err() != nil {
		t.Fatal("out of time; the first run compiles Volcano, give it a longer -timeout")
	}
	var exit *exec.ExitError
	if runErr != nil && !errors.As(runErr, &exit) {
		t.Fatal(runErr)
	}
	packages, err := parse(&stdout)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if stderr.Len() > 0 {
		t.Logf("stderr of go test:\n%s", stderr.String())
	}
	return packages
}

// parse reads the output of go test -json.
func parse(r io.Reader) (map[string]*packageResult, error) {
	packages := map[string]*packageResult{}
	tests := map[[2]string]*testResult{}
	decoder := json.NewDecoder(r)
	for {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("output of go test: %w", err)
		}
		if e.Package == "" {
			// "path [path.test]" is the build of path for its test.
			e.Package, _, _ = strings.Cut(e.ImportPath, " ")
		}
		p := packages[e.Package]
		if p == nil {
			p = &packageResult{}
			packages[e.Package] = p
		}
		if e.Test == "" {
			record(e, &p.verdict, &p.output)
			continue
		}
		key := [2]string{e.Package, e.Test}
		if tests[key] == nil {
			tests[key] = &testResult{name: e.Test}
			p.tests = append(p.tests, tests[key])
		}
		record(e, &tests[key].verdict, &tests[key].output)
	}
}

func record(e event, verdict *string, output *[]string) {
	switch e.Action {
	case "output", "build-output":
		*output = append(*output, e.Output)
	case "pass", "fail", "skip":
		*verdict = e.Action
	}
}

func TestParseTellsFailuresFromPasses(t *testing.T) {
	const stream = `{"ImportPath":"broken [broken.test]","Action":"build-output","Output":"undefined: x\n"}
{"ImportPath":"broken [broken.test]","Action":"build-fail"}
{"Action":"fail","Package":"broken","FailedBuild":"broken [broken.test]"}
{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestGood"}
{"Action":"pass","Package":"p","Test":"TestGood"}
{"Action":"run","Package":"p","Test":"TestBad"}
{"Action":"output","Package":"p","Test":"TestBad","Output":"want 1, got 2\n"}
{"Action":"fail","Package":"p","Test":"TestBad"}
{"Action":"run","Package":"p","Test":"TestHangs"}
{"Action":"fail","Package":"p"}
`
	packages, err := parse(strings.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	if b := packages["broken"]; b == nil || b.verdict != "fail" || tail(b.output) != "undefined: x\n" {
		t.Errorf("broken build: got %+v", b)
	}
	p := packages["p"]
	if p == nil || p.verdict != "fail" || len(p.tests) != 3 {
		t.Fatalf("package: got %+v", p)
	}
	for i, want := range []string{"pass", "fail", ""} {
		if got := p.tests[i].verdict; got != want {
			t.Errorf("%s: verdict %q, want %q", p.tests[i].name, got, want)
		}
	}
	if got := tail(p.tests[1].output); got != "want 1, got 2\n" {
		t.Errorf("output %q", got)
	}
}
