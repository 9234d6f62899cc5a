package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// parts are the headings with which the notes of a release begin: docs/dev/RELEASING.md.
var parts = []string{"Update", "Decisions", "Known problems"}

// printNotes prints the section of a release in CHANGELOG.md. Its links lead to the pages of the
// release.
func printNotes(o options) error {
	text, err := os.ReadFile(filepath.Join(o.source, "CHANGELOG.md"))
	if err != nil {
		return err
	}

	notes, err := notesOf(string(text), o.version)
	if err == nil {
		fmt.Print(notes)
	}

	return err
}

func notesOf(changelog, version string) (string, error) {
	_, section, found := strings.Cut(changelog, "\n## ["+strings.TrimPrefix(version, "v")+"]")
	if version == "" || !found {
		return "", fmt.Errorf("CHANGELOG.md has no section %q", version)
	}

	_, section, _ = strings.Cut(section, "\n") // the date
	section, _, _ = strings.Cut(section, "\n## ")
	section = strings.TrimSpace(section)
	if section == "" || strings.HasPrefix(section, "#") {
		return "", fmt.Errorf("CHANGELOG.md does not say what is new in %s before its lists", version)
	}

	for _, part := range parts {
		_, text, _ := strings.Cut(section, "\n### "+part+"\n")
		text = strings.TrimSpace(text)
		if text == "" || strings.HasPrefix(text, "#") {
			return "", fmt.Errorf("the notes of %s in CHANGELOG.md have nothing under %q", version, part)
		}
	}

	page := "https://" + repository + "/blob/" + version + "/"
	return regexp.MustCompile(`\]\(([\w.-][\w./-]*\.md)`).ReplaceAllString(section, "]("+page+"$1") + "\n", nil
}
