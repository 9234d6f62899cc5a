package controlplane

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// GoCommand runs the go command and returns its output. It works within this repository only.
func GoCommand(ctx context.Context, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", arguments...)
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, problems.String())
	}

	return strings.TrimSpace(string(out)), nil
}

// CopyModFile copies the mod file in use into a directory, and returns the flags to build with the copy. Programs of
// Volcano other than its scheduler need more modules than this one. The go command adds them to the copy.
func CopyModFile(ctx context.Context, directory string) (modFile string, flags []string, err error) {
	used, err := GoCommand(ctx, "list", "-m", "-f", "{{.GoMod}}")
	if err != nil {
		return "", nil, err
	}

	copied := filepath.Join(directory, "copy.mod")
	for _, extension := range []string{".mod", ".sum"} {
		text, err := os.ReadFile(strings.TrimSuffix(used, ".mod") + extension)
		if err != nil {
			return "", nil, err
		}

		err = os.WriteFile(strings.TrimSuffix(copied, ".mod")+extension, text, 0o644)
		if err != nil {
			return "", nil, err
		}
	}

	return copied, []string{"-mod=mod", "-modfile=" + copied}, nil
}
