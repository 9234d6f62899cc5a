package controlplane

import (
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
)

// logFile is where klog and etcd write while a control plane is up.
type logFile struct {
	file *os.File
}

// openLog sends klog to the file at path. The components log to klog or to a path, never to an io.Writer of ours, hence
// the change of process-wide state; close ends it.
func openLog(path string) (*logFile, error) {
	// Appending, since etcd opens the same file for itself.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	// Volcano's scheduler looks klog's verbosity up among the process's flags and crashes when it is not there.
	if flag.Lookup("v") == nil {
		klog.InitFlags(nil)
	}
	// Without the threshold klog copies errors to the terminal, whatever its output is.
	for name, value := range map[string]string{"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flag.Set(name, value); err != nil {
			return nil, fmt.Errorf("setting klog's flag %s: %w", name, err)
		}
	}
	klog.SetOutput(file)
	return &logFile{file: file}, nil
}

// close drops what is logged from here on: goroutines of stopped components still log for a moment, and the terminal is
// not theirs.
func (l *logFile) close() error {
	klog.SetOutput(io.Discard)
	return l.file.Close()
}
