package guard

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"
	"volcano.sh/volcano/pkg/filewatcher"
)

// Stage is a copy of a configuration file, of its last good content.
//
// Volcano reads a configuration again whenever something happens in the file's
// directory, so the copy has a directory of its own, and gets there by a rename:
// Volcano never sees half of it.
type Stage struct {
	source    string
	directory string
	watcher   filewatcher.FileWatcher
	// seen is what the source was when it was looked at last: its content, or why
	// it could not be read. It is nil before the first time.
	seen *string
}

// NewStage makes a copy of the file at source, which must be good.
func NewStage(source string) (*Stage, error) {
	// Watched before it is read, so that no change is missed in between. It is the
	// directory that is watched: in a ConfigMap's volume the file is a link.
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

// Path is where the copy is.
func (s *Stage) Path() string { return filepath.Join(s.directory, "conf", filepath.Base(s.source)) }

// Follow keeps the copy up to date until Close. A change that is not good is
// logged, and the copy stays as it is.
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
			// Such as an overflow of the kernel's queue: something has changed.
			klog.Warningf("Watching the directory of %s: %v", s.source, err)
		}
		changed, err := s.update()
		switch {
		case err != nil:
			klog.Errorf("The scheduler's configuration was changed and is refused, the last good one stays in force: %v", err)
		case changed:
			klog.Infof("The scheduler's configuration %s was changed and is in force from the next cycle on", s.source)
		}
	}
}

// update looks at the source and copies it if it is good. It reports whether there
// was anything new.
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
