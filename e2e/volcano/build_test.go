package volcano

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// The schedulers that are compared, by the names of their programs.
const (
	upstream = "upstream"
	ours     = "ours"
)

// schedulers are the packages of the schedulers.
var schedulers = map[string]string{
	upstream: "volcano.sh/volcano/cmd/scheduler",
	ours:     "github.com/capacity-card/capacity-card/cmd/vc-scheduler",
}

// tools are the other programs that the suites need.
var tools = map[string]string{
	"webhook-manager": "volcano.sh/volcano/cmd/webhook-manager",
	"vcctl":           "volcano.sh/volcano/cmd/cli",
}

// pinned are modules that must have the same versions in the suites and in the schedulers.
var pinned = []string{
	"volcano.sh/volcano", "volcano.sh/apis",
	"k8s.io/kubernetes", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go",
}

// releaseOfModule is the release of Volcano in go.mod, such as v1.14.1.
var releaseOfModule = sync.OnceValue(func() string {
	return versionOf("volcano.sh/volcano")
})

// versionOf returns the version of a module in the module cache, "" for a module in another directory.
func versionOf(module string) string {
	directory, err := controlplane.GoCommand(context.Background(), "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil || directory == "" {
		return "unknown"
	}
	_, version, _ := strings.Cut(filepath.Base(directory), "@")
	return version
}

// build builds the programs and the suites into a directory.
func build(ctx context.Context, directory string, suites []suite) error {
	fmt.Println("Building Volcano's suites and both schedulers in", directory)
	err := os.MkdirAll(directory, 0o755)
	if err != nil {
		return err
	}

	for name, path := range schedulers {
		_, err := controlplane.GoCommand(ctx, "build", "-ldflags=-s -w", "-o", filepath.Join(directory, name), path)
		if err != nil {
			return err
		}
	}

	// Tools and suites need more modules than this one.
	modFile, flags, err := controlplane.CopyModFile(ctx, directory)
	if err != nil {
		return err
	}

	flags = append(flags, "-ldflags=-s -w", "-o")
	for name, path := range tools {
		arguments := slices.Concat([]string{"build"}, flags, []string{filepath.Join(directory, name), path})
		_, err := controlplane.GoCommand(ctx, arguments...)
		if err != nil {
			return err
		}
	}
	for _, s := range suites {
		binary := filepath.Join(directory, s.name+".test")
		arguments := slices.Concat([]string{"test", "-c"}, flags, []string{binary, s.packagePath()})
		_, err := controlplane.GoCommand(ctx, arguments...)
		if err != nil {
			return err
		}
	}

	return samePinned(ctx, modFile)
}

// samePinned fails if the needs of the suites have changed the versions of Volcano or Kubernetes.
func samePinned(ctx context.Context, modFile string) error {
	list := append([]string{"list", "-m"}, pinned...)
	want, err := controlplane.GoCommand(ctx, list...)
	if err != nil {
		return err
	}

	got, err := controlplane.GoCommand(ctx, append([]string{"list", "-modfile=" + modFile}, list[1:]...)...)
	if err == nil && got != want {
		err = fmt.Errorf("the suites are built with\n%s\nand the schedulers with\n%s", got, want)
	}

	return err
}
