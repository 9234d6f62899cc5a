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

// openLog sends klog to the file at path. The components log to klog or to a path, and take no io.Writer. Therefore
// openLog changes process-wide state, until close.
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

	// Without the threshold, klog copies errors to the terminal, whatever its output is.
	settings := map[string]string{"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL"}
	for name, value := range settings {
		err := flag.Set(name, value)
		if err != nil {
			return nil, fmt.Errorf("setting klog's flag %s: %w", name, err)
		}
	}
	klog.SetOutput(file)

	return &logFile{file: file}, nil
}

// close discards later log lines. Goroutines of stopped components still log for a moment, and must not write to the
// terminal.
func (l *logFile) close() error {
	klog.SetOutput(io.Discard)
	return l.file.Close()
}
