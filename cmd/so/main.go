// Command so builds the plugins as shared objects for a given scheduler, into bin/so. Go loads a shared object only
// into a program with the same Go version, the same versions of all shared packages, and the same flags. So the
// command reads the build information of the scheduler and takes its flags over. If the versions cannot match, it
// reports the necessary changes.
package main

import (
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// The names of the plugins are the names of their files and of the commands below this directory.
var plugins = []string{"capacity-card", "capacity", "proportion"}

func main() {
	scheduler := flag.String("scheduler", "", "the program that is to load the plugins")
	directory := flag.String("o", filepath.Join("bin", "so"), "where they go")
	flag.Parse()

	if err := run(*scheduler, *directory); err != nil {
		fmt.Fprintln(os.Stderr, "so:", err)
		os.Exit(1)
	}
}

func run(scheduler, directory string) error {
	host, err := buildinfo.ReadFile(scheduler)
	if err != nil {
		return fmt.Errorf("reading how %s was built: %w", scheduler, err)
	}

	// This program imports the packages of the plugins, so its versions are the versions of the module.
	self, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("this program does not know its own versions: build it with modules")
	}
	if err := matches(host, self, runtime.Version()); err != nil {
		return fmt.Errorf("no shared object of this module can be loaded by %s:\n%w\n%s", scheduler, err, remedy)
	}

	for _, name := range plugins {
		path := filepath.Join(directory, name+".so")
		arguments := append([]string{"build", "-buildmode=plugin", "-o", path}, flags(host)...)
		command := exec.Command("go", append(arguments, "./cmd/so/"+name)...)
		command.Env = append(os.Environ(), "CGO_ENABLED=1")
		command.Stdout = os.Stdout
		command.Stderr = os.Stderr

		fmt.Println("go", strings.Join(command.Args[1:], " "))
		if err := command.Run(); err != nil {
			return fmt.Errorf("building %s: %w", path, err)
		}
	}
	return nil
}

const remedy = `Build the scheduler of this module, which has Volcano's own at the versions of its go.mod:
    CGO_ENABLED=1 go build -o bin/so/vc-scheduler volcano.sh/volcano/cmd/scheduler
or use cmd/vc-scheduler, which has the plugins compiled in and needs no shared objects.`

// matches returns why plugins of this module cannot be loaded by a program, if they cannot.
func matches(host, self *debug.BuildInfo, goVersion string) error {
	var errs []error
	differs := func(format string, args ...any) { errs = append(errs, fmt.Errorf("- "+format, args...)) }

	if host.GoVersion != goVersion {
		differs("it was built by %s, this is %s: set GOTOOLCHAIN=%s", host.GoVersion, goVersion, host.GoVersion)
	}
	if setting(host, "CGO_ENABLED") != "1" {
		differs("it was built with CGO_ENABLED=0, so it loads no shared objects at all")
	}
	if setting(host, "-buildmode") == "pie" {
		differs("it was built with -buildmode=pie, which compiles packages differently")
	}
	if host.Main.Path == volcano && host.Main.Sum == "" {
		differs("it was built in a source tree of Volcano: its packages differ from the packages of the module")
	}

	versions := map[string]string{}
	for _, dependency := range append(host.Deps, &host.Main) {
		versions[dependency.Path] = version(dependency)
	}

	for _, dependency := range self.Deps {
		if has, shared := versions[dependency.Path]; shared && has != version(dependency) {
			differs("it has %s %s, this module has %s", dependency.Path, has, version(dependency))
		}
	}

	return errors.Join(errs...)
}

const volcano = "volcano.sh/volcano"

// version returns the version of a module or of its replacement.
func version(module *debug.Module) string {
	if module.Replace == nil {
		return module.Version
	}
	return module.Replace.Path + " " + module.Replace.Version
}

func setting(info *debug.BuildInfo, key string) string {
	for _, each := range info.Settings {
		if each.Key == key {
			return each.Value
		}
	}
	return ""
}

// flags returns the flags that the packages of a program were compiled with.
func flags(host *debug.BuildInfo) []string {
	var flags []string
	for _, key := range []string{"-trimpath", "-tags", "-race", "-gcflags", "-asmflags"} {
		if value := setting(host, key); value != "" {
			flags = append(flags, key+"="+value)
		}
	}
	return flags
}
