package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "github.com/capacity-card/capacity-card"
	std    = "std" // stands for every package of the standard library
	bitset = "github.com/bits-and-blooms/bitset"
)

// layer lists the imports that the Go files of a directory may have. It includes the directories below without a layer
// of their own. A pattern names one package, or with /... all packages from there down. An empty allow allows
// everything.
type layer struct {
	dir    string
	allow  []string
	deny   []string
	silent bool // must not print
	reason string
}

// layers has a row for each top-level directory, so that nobody adds a room
// unnoticed. Where allow is set it keeps klog out as well.
var layers = []layer{
	{
		dir: "fastres", allow: []string{std}, silent: true,
		reason: "vector arithmetic, in the inner loops of everything else",
	},
	{
		dir: "index", allow: []string{std, bitset, module + "/fastres"}, silent: true,
		reason: "the accounts must be testable and fuzzable without a scheduler",
	},
	{
		dir: "index/card", allow: []string{std, module + "/index", "k8s.io/api/...", "k8s.io/apimachinery/..."}, silent: true,
		reason: "reads cards off Kubernetes objects, and needs nothing but their types",
	},
	{
		dir: "index/policy", allow: []string{std, module + "/index", module + "/index/card", "k8s.io/api/...", "k8s.io/apimachinery/..."}, silent: true,
		reason: "reads policies off the text of annotations, and enforces none",
	},
	{
		dir: "index/override", allow: []string{std, module + "/index", module + "/index/card", module + "/index/policy", "k8s.io/api/...", "k8s.io/apimachinery/..."}, silent: true,
		reason: "reads windows off the text of an annotation, and reads no clock",
	},
	{
		dir: "quota", allow: []string{std, module + "/index", module + "/fastres"}, silent: true,
		reason: "decides on numbers alone; what they mean to a scheduler is plugin's business",
	},
	{
		dir: "quota/assign", allow: []string{std, module + "/index", module + "/fastres"}, silent: true,
		reason: "a feasibility question on the accounts alone, without the rules that ask it",
	},
	{
		dir: "quota/usage", allow: []string{std, module + "/index"}, silent: true,
		reason: "averages over time, on numbers and names alone",
	},
	{
		dir: "quota/budget", allow: []string{std, module + "/index", module + "/index/policy"}, silent: true,
		reason: "sums over windows of time, on numbers and names alone",
	},
	{
		dir: "quota/evict", allow: []string{std, module + "/fastres"}, silent: true,
		reason: "counts, and chooses, on numbers and names alone",
	},
	{
		dir: "quota/plan", allow: []string{std, module + "/index", module + "/fastres", module + "/quota"}, silent: true,
		reason: "plans evictions, and asks for all that the scheduler knows",
	},
	{
		dir: "plugin", allow: []string{std, "volcano.sh/...", module + "/plugin/arguments", module + "/plugin/inspect", module + "/plugin/internal/session",
			module + "/plugin/store"},
		reason: "is what a scheduler calls: names, constructors, and no decision",
	},
	{
		dir: "plugin/internal/testbed", allow: nil,
		reason: "is what tests share: it builds clusters, and opens sessions on them",
	},
	{
		dir: "plugin/internal/session",
		allow: slices.Concat(below(), accounts, rules, []string{module + "/plugin/admit", module + "/plugin/reclaim", module + "/plugin/arguments",
			module + "/plugin/constraint/...", module + "/plugin/inspect", module + "/plugin/problems", module + "/plugin/status", module + "/plugin/store", module + "/quota/budget", module + "/quota/evict"}),
		reason: "is one session: life cycle and hooks; what it reads, decides and reports has rooms of its own",
	},
	{
		dir: "plugin/inspect",
		allow: slices.Concat(below(), accounts, rules, []string{module + "/plugin/admit", module + "/plugin/reclaim", module + "/plugin/arguments",
			module + "/plugin/constraint/...", module + "/quota/budget", module + "/quota/evict", module + "/quota/plan", module + "/quota/usage"}),
		reason: "shows a session and a configuration to programs, and changes neither",
	},
	{
		dir: "plugin/arguments", allow: append(below(), module+"/plugin/cards", module+"/plugin/reserve", module+"/plugin/intake", module+"/plugin/release"),
		reason: "reads the text of arguments, before there is a session",
	},
	{
		dir: "plugin/settings", allow: []string{std}, silent: true,
		reason: "describes settings for pages and programs, and reads none",
	},
	{
		dir: "plugin/constraint", allow: slices.Concat(below(), accounts),
		reason: "asks the features that are active, and knows none of them",
	},
	{
		dir: "plugin/background", allow: []string{std}, silent: true,
		reason: "runs what sessions do not wait for, and knows none of it",
	},
	{
		dir: "plugin/store", allow: append(below(), module+"/plugin/arguments", module+"/plugin/background", module+"/plugin/cards", module+"/plugin/earmark", module+"/plugin/objects", module+"/quota/budget", module+"/quota/evict", module+"/quota/usage"),
		reason: "saves and loads what lasts, and decides nothing",
	},
	{
		dir: "plugin/status", allow: []string{std, module + "/index", module + "/index/card", module + "/plugin/background", module + "/plugin/inspect", "volcano.sh/...", "k8s.io/apimachinery/..."},
		reason: "tells programs what queues have, and decides nothing",
	},
	feature("budget", module+"/plugin/store", module+"/quota/budget"), feature("classes", module+"/plugin/arguments"),
	feature("enforce", append(words, module+"/quota/evict")...), feature("evictions", module+"/quota/evict"),
	feature("joborder", words...),
	feature("fairness", module+"/plugin/arguments", module+"/plugin/store", module+"/quota/usage"),
	feature("grace", append(words, module+"/plugin/background")...),
	{
		dir: "plugin/admit", allow: slices.Concat(below(), accounts, rules),
		reason: "admits jobs, by the quotas and whatever constraints are active",
	},
	{
		dir: "plugin/reclaim", allow: slices.Concat(below(), accounts, rules, []string{module + "/plugin/arguments", module + "/plugin/reclaim/notice", module + "/quota/plan"}),
		reason: "chooses who is evicted, by the quotas and whatever constraints are active",
	},
	{
		dir: "plugin/reclaim/notice", allow: append(below(), module+"/plugin/earmark"), silent: true,
		reason: "keeps plans from session to session, and knows no session",
	},
	{
		dir: "plugin/earmark", allow: below(),
		reason: "remembers for whom pods were evicted, and decides nothing",
	},
	{
		dir: "plugin/objects", allow: append(below(), module+"/plugin/release"),
		reason: "finds which objects have changed, and knows nothing of what is read from them",
	},
	{
		dir: "plugin/cards", allow: append(below(), bitset, module+"/plugin/objects", module+"/plugin/release"),
		reason: "reads what nodes, pods and queues state about cards, and knows no job",
	},
	{
		dir: "plugin/reserve", allow: append(below(), module+"/quota/assign", module+"/plugin/cards"),
		reason: "the cards of jobs; bounds and words are the business of others",
	},
	{
		dir: "plugin/intake", allow: append(below(), module+"/quota/assign", module+"/plugin/objects", module+"/plugin/cards", module+"/plugin/reserve", module+"/plugin/release"),
		reason: "reads sessions into the index, and reports nothing",
	},
	{
		dir: "plugin/report", allow: append(slices.Concat(below(), words), module+"/plugin/cards", module+"/plugin/reserve", module+"/plugin/constraint",
			module+"/quota/budget", "github.com/prometheus/client_golang/...", "github.com/prometheus/client_model/go"),
		reason: "puts decisions into words and numbers, and makes none",
	},
	{
		dir: "plugin/record", allow: below(),
		reason: "writes events and warnings, whoever has something to tell",
	},
	{
		dir: "plugin/format", allow: []string{std, module + "/fastres", module + "/index", module + "/index/card"}, silent: true,
		reason: "formats numbers, and knows no session",
	},
	{
		dir: "plugin/problems", allow: slices.Concat(below(), accounts, words, []string{module + "/plugin/constraint", module + "/plugin/constraint/evictions"}),
		reason: "finds what is wrong with objects, and decides nothing about jobs",
	},
	{
		dir: "plugin/release", allow: []string{std, "volcano.sh/...", "k8s.io/..."},
		reason: "the only room that knows releases of Volcano, and nothing of the engine",
	},
	{
		dir: "plugin/release/checkout", allow: []string{std, "golang.org/x/mod/..."},
		reason: "writes a mod file before anything is built with it",
	},
	{
		dir: "plugin/offline", allow: []string{std, module + "/plugin/release", "volcano.sh/...", "k8s.io/..."},
		reason: "stands in for an API server, whichever plugin the session has",
	},
	{
		dir: "plugin/offline/replay",
		allow: []string{std, module + "/plugin", module + "/plugin/offline", module + "/plugin/offline/replay/...", module + "/plugin/inspect", module + "/plugin/report",
			module + "/index", module + "/index/card", module + "/index/policy", "volcano.sh/...", "k8s.io/..."},
		reason: "plays users and kubelets in virtual time; the decisions are those of sessions",
	},
	{
		dir: "plugin/offline/replay/trace", allow: []string{std, module + "/index"}, silent: true,
		reason: "reads what users submitted, and knows no cluster",
	},
	{
		dir: "plugin/offline/replay/measure", allow: []string{std}, silent: true,
		reason: "adds up times, names and numbers, whoever observed them",
	},
	{
		dir: "plugin/guard", allow: []string{std, module + "/plugin", module + "/plugin/arguments", "volcano.sh/...", "k8s.io/...", "gopkg.in/yaml.v2"},
		reason: "reads configurations as Volcano does, before Volcano does",
	},
	{
		dir: "bench", deny: []string{module + "/cmd/...", module + "/e2e/..."},
		reason: "measures the layers, not the programs built of them",
	},
	{
		dir: "bench/workload", allow: []string{std},
		reason: "describes load without a word on who carries it, so that it fits any scheduler",
	},
	{
		dir: "bench/peers", allow: []string{std}, silent: true,
		reason: "modules of their own, one for each scheduler; what they share knows none of them",
	},
	{
		dir: "bench/load", allow: []string{std}, silent: true,
		reason: "the results of a measurement, for the pages of several programs",
	},
	{dir: "fuzz", reason: "holds the engine against the oracle, so it sees both"},
	{
		dir: "fuzz/oracle", deny: []string{module + "/quota/...", module + "/index/...", module + "/fastres/...", module + "/plugin/..."},
		reason: "an oracle that shares code with the engine shares its errors",
	},
	{dir: "cmd", reason: "the top: nothing imports it"},
	{
		dir: "cmd/mcp", allow: []string{std, "github.com/modelcontextprotocol/go-sdk/mcp"},
		reason: "a module of its own, which runs cardctl and has no rules",
	},
	{
		dir: "cmd/internal/families", allow: []string{std, "github.com/prometheus/..."}, silent: true,
		reason: "metrics as text, and nothing of what they mean",
	},
	{
		dir: "cmd/cardctl/serve/access", allow: []string{std, "k8s.io/...", module + "/cmd/cardctl/serve", module + "/cmd/cardctl/serve/page"},
		reason: "decides who sees a page, and not what is on it",
	},
	{
		dir: "cmd/cardctl/screen", allow: []string{std, "github.com/charmbracelet/...", module + "/cmd/cardctl/queues", module + "/cmd/cardctl/screen/..."},
		reason: "draws queues, and reads no cluster",
	},
	{
		dir: "cmd/cardctl/screen/background", allow: []string{"github.com/charmbracelet/lipgloss"}, silent: true,
		reason: "is initialized before Bubble Tea, as long as it imports nothing but Lip Gloss",
	},
	{
		dir: "cmd/cardctl/audit", allow: []string{std, "k8s.io/apimachinery/...", module + "/cmd/cardctl/document", module + "/cmd/cardctl/engine", module + "/cmd/cardctl/explain",
			module + "/cmd/cardctl/queues", module + "/cmd/cardctl/validate", module + "/index/card", module + "/index/policy", module + "/plugin/arguments", module + "/quota/usage"},
		reason: "concludes from what others have read",
	},
	{
		dir: "cmd/cardctl/serve", allow: []string{std, "filippo.io/csrf", "github.com/felixge/httpsnoop", "github.com/klauspost/compress/gzhttp",
			"github.com/prometheus/client_golang/...", "k8s.io/apimachinery/...", "k8s.io/utils/ptr", module + "/cmd/cardctl/..."},
		deny:   []string{module + "/cmd/cardctl/command", module + "/cmd/cardctl/screen/..."},
		reason: "answers requests with what the engine finds, and decides nothing",
	},
	{
		dir: "cmd/cardctl/serve/model", allow: []string{std, "k8s.io/api/...", "k8s.io/apimachinery/...", "k8s.io/utils/ptr", "volcano.sh/apis/...", module + "/cmd/cardctl/...", module + "/index", module + "/index/card", module + "/index/policy", module + "/plugin", module + "/plugin/report"},
		deny:   []string{module + "/cmd/cardctl/command", module + "/cmd/cardctl/screen/...", module + "/cmd/cardctl/serve/page", "net/http"},
		reason: "has the results of the engine, however they are shown",
	},
	{
		dir: "cmd/cardctl/serve/vitals", allow: []string{std, "github.com/prometheus/...", module + "/cmd/cardctl/serve/model", module + "/cmd/internal/families", module + "/plugin"},
		reason: "reads metrics, and no cluster",
	},
	{
		dir: "cmd/cardctl/serve/page", allow: []string{std, "golang.org/x/text/language", "k8s.io/apimachinery/...", module + "/cmd/cardctl/explain", module + "/plugin/report", module + "/plugin/format"},
		reason: "draws pages, and finds nothing out",
	},
	{
		dir: "cmd/cardctl/told", allow: []string{std, "k8s.io/api/...", "k8s.io/apimachinery/...", "volcano.sh/apis/...", module + "/cmd/cardctl/explain",
			module + "/cmd/cardctl/input", module + "/index/card", module + "/plugin/report"},
		silent: true,
		reason: "collects what the scheduler has written, and opens no session",
	},
	{
		dir: "cmd/cardctl/replay", allow: []string{std, "sigs.k8s.io/yaml", module + "/cmd/cardctl/document", module + "/cmd/cardctl/engine", module + "/cmd/cardctl/queues", module + "/index", module + "/index/card", module + "/plugin/offline/replay/..."},
		reason: "shows what a replay found, and decides nothing",
	},
	{dir: "e2e", reason: "drives the built programs from outside"},
	{
		dir: "e2e/history", allow: []string{std, "k8s.io/api/...", "k8s.io/apimachinery/...", "k8s.io/client-go/..."}, silent: true,
		reason: "writes down what an API server stores, whoever stored it",
	},
	{
		dir: "e2e/history/check", allow: []string{std, "k8s.io/api/...", "k8s.io/apimachinery/...", "volcano.sh/apis/...", module + "/index/card", module + "/e2e/history"}, silent: true,
		reason: "a checker that shares code with the engine shares its errors; names alone are read by the same code",
	},
	{
		dir: "packaging", deny: []string{module + "/..."},
		reason: "a module of its own, whose requirements are not those of the scheduler: it builds the others, and imports none",
	},
	{dir: "internal", reason: "checks the repository, and is imported by nobody"},
	{dir: "profiles", reason: "recorded data, imported by no layer"},
	{dir: "deploy", reason: "manifests, imported by no layer"},
	{dir: "docs", reason: "text, imported by no layer"},
	{dir: "examples", reason: "to be read, imported by no layer"},
}

// below are the layers under every room of plugin.
func below() []string {
	return []string{std, module + "/fastres", module + "/index", module + "/index/card", module + "/index/policy", module + "/index/override", module + "/quota",
		"volcano.sh/...", "k8s.io/..."}
}

// accounts are the rooms of plugin that read a session, rules those that decide and report,
// and words those that whoever tells something may use.
var (
	accounts = []string{module + "/plugin/objects", module + "/plugin/cards", module + "/plugin/earmark", module + "/plugin/reserve", module + "/plugin/intake", module + "/plugin/release"}
	rules    = append([]string{module + "/plugin/constraint", module + "/plugin/report"}, words...)
	words    = []string{module + "/plugin/record", module + "/plugin/format"}
)

// feature is the row of a package below plugin/constraint. More packages that it may import follow. A feature that imports
// no more needs no row.
func feature(name string, more ...string) layer {
	return layer{dir: "plugin/constraint/" + name, allow: slices.Concat(below(), accounts, []string{module + "/plugin/constraint"}, more), reason: "a feature, which no other one knows"}
}

// generated are the top-level directories that are not part of the sources.
var generated = []string{"build", "bin"}

// layerOf returns the innermost layer that a directory is in.
func layerOf(dir string) (layer, bool) {
	for ; dir != "."; dir = path.Dir(dir) {
		for _, l := range layers {
			if l.dir == dir {
				return l, true
			}
		}
		if path.Dir(dir) == "plugin/constraint" {
			return feature(path.Base(dir)), true
		}
	}
	return layer{}, false
}

func (l layer) allows(target string) bool {
	matches := func(pattern string) bool { return match(pattern, target) }
	if slices.ContainsFunc(l.deny, matches) {
		return false
	}
	return len(l.allow) == 0 || slices.ContainsFunc(l.allow, matches)
}

func match(pattern, target string) bool {
	if pattern == std {
		// The go command reserves paths without a dot in front for std.
		first, _, _ := strings.Cut(target, "/")
		return !strings.Contains(first, ".")
	}
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return target == prefix || strings.HasPrefix(target, prefix+"/")
	}
	return target == pattern
}

// checkTree returns the number of Go files below root that it checked, and the problems that it found in the tree.
func checkTree(root string) (files int, violations []string, err error) {
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if entry.IsDir() {
			if slices.Contains(generated, name) || ignoredByGo(entry.Name()) {
				return fs.SkipDir
			}
			if _, ok := layerOf(name); !ok {
				violations = append(violations, name+": directory without a layer")
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files++
		found, err := checkFile(root, name)
		violations = append(violations, found...)
		return err
	})
	return files, violations, err
}

func ignoredByGo(dir string) bool {
	return dir == "testdata" || strings.HasPrefix(dir, ".") || strings.HasPrefix(dir, "_")
}

func checkFile(root, name string) ([]string, error) {
	l, ok := layerOf(path.Dir(name))
	if !ok {
		return []string{name + ": code outside of the layers"}, nil
	}
	mode := parser.ImportsOnly
	if l.silent {
		mode = parser.SkipObjectResolution
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, filepath.Join(root, name), nil, mode)
	if err != nil {
		return nil, err
	}
	var violations []string
	for _, spec := range file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if !l.allows(target) {
			violations = append(violations, fmt.Sprintf("%s: %s must not import %s: %s", name, l.dir, target, l.reason))
		}
		if l.silent && target == "fmt" {
			for _, call := range prints(file, spec) {
				violations = append(violations, fmt.Sprintf("%s: %s must not call fmt.%s", name, l.dir, call))
			}
		}
	}
	return violations, nil
}

// prints returns the names of the functions of fmt in use that write to stdout.
func prints(file *ast.File, fmtSpec *ast.ImportSpec) []string {
	qualifier := "fmt"
	if fmtSpec.Name != nil {
		qualifier = fmtSpec.Name.Name
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok || !strings.HasPrefix(selector.Sel.Name, "Print") {
			return true
		}
		if ident, ok := selector.X.(*ast.Ident); ok && ident.Name == qualifier {
			names = append(names, selector.Sel.Name)
		}
		return true
	})
	return names
}

func TestLayers(t *testing.T) {
	files, violations, err := checkTree(".")
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Error("no Go files found")
	}
	for _, v := range violations {
		t.Error(v)
	}
}

func TestEveryLayerHasAReason(t *testing.T) {
	for _, l := range layers {
		if l.reason == "" {
			t.Errorf("%s: no reason", l.dir)
		}
	}
}

// TestLayersAreEnforced shows that TestLayers can fail.
func TestLayersAreEnforced(t *testing.T) {
	tree := []struct{ file, source, want string }{
		{"fastres/a.go", `import "math/bits"`, ""},
		{"fastres/b.go", `import "` + module + `/index"`, "fastres must not import " + module + "/index"},
		{"fastres/c.go", `import out "fmt"; func f() { out.Println() }`, "fastres must not call fmt.Println"},
		{"fastres/d.go", `import "fmt"; var e = fmt.Errorf("")`, ""},
		{"fastres/e_test.go", `import "k8s.io/klog/v2"`, ""},
		{"fastres/testdata/f.go", `import "k8s.io/klog/v2"`, ""},
		{"index/a.go", `import "k8s.io/klog/v2"`, "index must not import k8s.io/klog/v2"},
		{"index/b.go", `import "` + module + `/index/card"`, "index must not import " + module + "/index/card"},
		{"index/card/a.go", `import "k8s.io/api/core/v1"`, ""},
		{"index/card/b.go", `import "k8s.io/klog/v2"`, "index/card must not import k8s.io/klog/v2"},
		{"index/deep/a.go", `import "k8s.io/api/core/v1"`, "index must not import k8s.io/api/core/v1"},
		{"quota/a.go", `import "` + module + `/index"`, ""},
		{"quota/b.go", `import "volcano.sh/volcano/pkg/scheduler/api"`, "quota must not import volcano.sh/volcano/pkg/scheduler/api"},
		{"plugin/internal/session/a.go", `import "volcano.sh/volcano/pkg/scheduler/api"; import "` + module + `/quota"`, ""},
		{"plugin/internal/session/b.go", `import "` + module + `/bench"`, "plugin/internal/session must not import " + module + "/bench"},
		{"plugin/internal/session/c.go", `import "` + module + `/plugin/intake"; import "` + module + `/plugin/report"`, ""},
		{"plugin/internal/session/d.go", `import "` + module + `/plugin/guard"`, "plugin/internal/session must not import " + module + "/plugin/guard"},
		{"plugin/cards/a.go", `import "` + module + `/plugin/reserve"`, "plugin/cards must not import " + module + "/plugin/reserve"},
		{"plugin/reserve/a.go", `import "` + module + `/plugin/intake"`, "plugin/reserve must not import " + module + "/plugin/intake"},
		{"plugin/intake/a.go", `import "` + module + `/plugin/report"`, "plugin/intake must not import " + module + "/plugin/report"},
		{"plugin/report/a.go", `import "` + module + `/plugin"`, "plugin/report must not import " + module + "/plugin"},
		{"plugin/release/a.go", `import "` + module + `/index"`, "plugin/release must not import " + module + "/index"},
		{"bench/a.go", `import "` + module + `/plugin"`, ""},
		{"bench/b.go", `import "` + module + `/e2e/x"`, "bench must not import " + module + "/e2e/x"},
		{"bench/workload/a.go", `import "k8s.io/api/core/v1"`, "bench/workload must not import k8s.io/api/core/v1"},
		{"fuzz/a.go", `import "` + module + `/quota"`, ""},
		{"fuzz/oracle/a.go", `import "` + module + `/quota"`, "fuzz/oracle must not import " + module + "/quota"},
		{"fuzz/oracle/c.go", `import "` + module + `/fastres"`, "fuzz/oracle must not import " + module + "/fastres"},
		{"fuzz/oracle/b.go", `import "` + module + `/index/card"`, "fuzz/oracle must not import " + module + "/index/card"},
		{"cmd/x/a.go", `import "fmt"; import "` + module + `/plugin"; func f() { fmt.Println() }`, ""},
		{"build/a.go", `import "` + module + `/cmd"`, ""},
		{".hidden/a.go", ``, ""},
		{"annex/a.go", ``, "annex: directory without a layer"},
		{"root.go", ``, "root.go: code outside of the layers"},
	}
	root := t.TempDir()
	var want []string
	for _, f := range tree {
		name := filepath.Join(root, f.file)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("package p\n"+f.source+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if f.want != "" {
			want = append(want, f.want)
		}
	}
	_, violations, err := checkTree(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(violations) != len(want) {
		t.Errorf("%d violations, want %d: %q", len(violations), len(want), violations)
	}
	for _, w := range want {
		if !slices.ContainsFunc(violations, func(v string) bool { return strings.Contains(v, w) }) {
			t.Errorf("not found: %s", w)
		}
	}
}
