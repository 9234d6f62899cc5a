// Command apis writes the module volcano.sh/apis into build/apis, where go.v1.15.mod expects it.
//
// Volcano v1.15.1 requires volcano.sh/apis v1.15.1, which some module proxies do not have. If it cannot be
// downloaded, the command writes v1.14.0 with the parts of the newer module that Volcano v1.15.1 needs. They are a
// constant, and the two methods by which client-go v0.35 learns that a fake clientset has no watch lists. Without
// them, an informer of a fake clientset waits forever.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	module   = "volcano.sh/apis"
	wanted   = "v1.15.1"
	fallback = "v1.14.0"
)

func main() {
	log.SetFlags(0)
	if err := write(filepath.Join("build", "apis")); err != nil {
		log.Fatal("apis: ", err)
	}
}

// write replaces the directory to.
func write(to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}

	from, err := download(wanted)
	if err == nil {
		return copyModule(to, from)
	}

	log.Printf("%s %s is not available (%v): adding to %s what Volcano needs of it", module, wanted, err, fallback)
	from, err = download(fallback)
	if err != nil {
		return err
	}
	if err := copyModule(to, from); err != nil {
		return err
	}
	return patch(to)
}

// download returns the directory of a version of the module.
func download(version string) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", module+"@"+version)
	cmd.Dir = os.TempDir() // outside any module
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, failure := cmd.Output()

	var answer struct{ Dir, Error string }
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", fmt.Errorf("go mod download %s@%s: %w", module, version, failure)
	}
	if answer.Error != "" {
		return "", fmt.Errorf("%s", answer.Error)
	}
	return answer.Dir, nil
}

// copyModule copies a module without its file permissions: the module cache is read-only.
func copyModule(to, from string) error { return os.CopyFS(to, os.DirFS(from)) }

const (
	gateKey = `
// QueueAllocationGateKey is the annotation that has a pod wait for the capacity of its
// queue, and the name of its scheduling gate.
const QueueAllocationGateKey = GroupName + "/queue-allocation-gate"
`
	noWatchLists = `
// IsWatchListSemanticsUnSupported tells client-go that the fake has no watch lists.
func (c *Clientset) IsWatchListSemanticsUnSupported() bool { return true }
`
)

// patch adds the needed parts of the newer version to a copy of the fallback version.
func patch(dir string) error {
	added := map[string]string{
		"pkg/apis/scheduling/v1beta1/labels.go":                      gateKey,
		"pkg/client/clientset/versioned/fake/clientset_generated.go": noWatchLists,
	}

	for file, text := range added {
		err := edit(filepath.Join(dir, file), func(s string) (string, bool) { return s + text, true })
		if err != nil {
			return err
		}
	}

	informers, err := filepath.Glob(filepath.Join(dir, "pkg/client/informers/externalversions/*/*/*.go"))
	if err != nil {
		return err
	}

	patched := 0
	for _, path := range informers {
		if filepath.Base(path) == "interface.go" {
			continue
		}
		if err := edit(path, watchList); err != nil {
			return err
		}

		patched++
	}

	if patched == 0 {
		return fmt.Errorf("%s has no informers", dir)
	}
	return nil
}

// watchList makes an informer ask its client whether it has watch lists.
func watchList(s string) (string, bool) {
	const start, end = "&cache.ListWatch{\n", "\n\t\t},\n\t\t&"
	if strings.Count(s, start) != 1 || strings.Count(s, end) != 1 {
		return s, false
	}

	s = strings.Replace(s, start, "cache.ToListWatcherWithWatchListSemantics("+start, 1)
	return strings.Replace(s, end, "\n\t\t}, client),\n\t\t&", 1), true
}

// edit changes a file.
func edit(path string, change func(string) (string, bool)) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}

	changed, ok := change(string(content))
	if !ok {
		return fmt.Errorf("%s does not look as expected", path)
	}

	return os.WriteFile(path, []byte(changed), 0o644)
}
