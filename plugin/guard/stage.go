package guard

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"
	"volcano.sh/volcano/pkg/filewatcher"
)

// Stage is a copy of the last content of a configuration file that Check accepts.
//
// Volcano reads a configuration again when anything changes in the directory of the file. The copy therefore has a
// directory of its own, and a rename replaces it, so Volcano never reads a part of it.
type Stage struct {
	source    string
	directory string
	watcher   filewatcher.FileWatcher
	// seen is the last content of the source, or the error of reading it. It is nil before the first read.
	seen *string
}

// NewStage copies the file at source. It fails if the file cannot be read or if Check returns an error.
func NewStage(source string) (*Stage, error) {
	// Watch before reading, so that no change is lost in between. Watch the directory, because in the volume of a
	// ConfigMap the file is a link.
	watcher, err := filewatcher.NewFileWatcher(filepath.Dir(source))
	if err != nil {
		return nil, fmt.Errorf("watching the directory of %s: %w", source, err)
	}

	directory, err := os.MkdirTemp("", "vc-scheduler-")
	if err != nil {
		watcher.Close()
		return nil, fmt.Errorf("making a directory for the checked configuration (TMPDIR says where): %w", err)
	}

	s := &Stage{source: source, directory: directory, watcher: watcher}
	if err := os.Mkdir(filepath.Dir(s.Path()), 0o700); err != nil {
		s.Close()
		return nil, err
	}
	if _, err := s.update(); err != nil {
		s.Close()
		return nil, err
	}

	return s, nil
}

// Path is the path of the copy.
func (s *Stage) Path() string { return filepath.Join(s.directory, "conf", filepath.Base(s.source)) }

// Follow updates the copy until Close. If Check returns an error, Follow logs it, and the copy stays as it is.
func (s *Stage) Follow() {
	for {
		select {
		case _, open := <-s.watcher.Events():
			if !open {
				return
			}
		case err, open := <-s.watcher.Errors():
			if !open {
				return
			}
			// For example an overflow of the kernel's queue: something has changed.
			klog.Warningf("Watching the directory of %s: %v", s.source, err)
		}

		changed, err := s.update()
		switch {
		case err != nil:
			klog.Errorf("The scheduler's configuration was changed and is refused, the last good one stays in force: "+
				"%v", err)
		case changed:
			klog.Infof("The scheduler's configuration %s was changed and is in force from the next cycle on", s.source)
		}
	}
}

// update reads the source and copies it if Check accepts it. It reports whether the source has changed.
func (s *Stage) update() (changed bool, err error) {
	content, err := os.ReadFile(s.source)
	seen := string(content)
	if err != nil {
		seen = err.Error()
	}
	if s.seen != nil && *s.seen == seen {
		return false, nil
	}
	s.seen = &seen
	if err != nil {
		return true, err
	}

	if err := Check(seen); err != nil {
		return true, fmt.Errorf("%s: %w", s.source, err)
	}
	for _, warning := range Warnings(seen) {
		klog.Warningf("The scheduler's configuration %s: %s", s.source, warning)
	}

	next := filepath.Join(s.directory, "next")
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return true, err
	}

	return true, os.Rename(next, s.Path())
}

// Close ends Follow and removes the copy.
func (s *Stage) Close() {
	s.watcher.Close()
	if err := os.RemoveAll(s.directory); err != nil {
		klog.Warningf("Removing the checked configuration: %v", err)
	}
}
