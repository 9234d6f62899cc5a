package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Format is a format of traces.
type Format string

// The formats.
const (
	CSV    Format = "csv"    // the canonical one
	Philly Format = "philly" // cluster_job_log of msr-fiddle/philly-traces
	Helios Format = "helios" // cluster_log.csv of S-Lab-System-Group/HeliosData
	PAI    Format = "pai"    // pai_task_table.csv of alibaba/clusterdata, cluster-trace-gpu-v2020
	OpenB  Format = "openb"  // openb_pod_list_*.csv of alibaba/clusterdata, cluster-trace-gpu-v2023
	SWF    Format = "swf"    // the Standard Workload Format of the Parallel Workloads Archive
)

// Formats has all of them.
var Formats = []string{string(CSV), string(Philly), string(Helios), string(PAI), string(OpenB), string(SWF)}

// Errors about a whole trace.
var (
	ErrEmpty   = errors.New("the trace is empty")
	ErrUnknown = errors.New("the format of the trace is not known from its beginning")
	ErrNoJobs  = errors.New("the trace has no job that can be replayed")
)

// Read reads a trace. format "" selects the format by the beginning of the file. Lines that cannot be
// used are in Problems; the error is about the whole file.
func Read(file string, in io.Reader, format Format) (*Trace, error) {
	r := bufio.NewReaderSize(in, 1<<16)
	head, err := r.Peek(1 << 12)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	if len(bytes.TrimSpace(head)) == 0 {
		return nil, fmt.Errorf("%s: %w: expected one of the formats %s", file, ErrEmpty, strings.Join(Formats, ", "))
	}
	if format == "" {
		format = detect(string(head))
		if format == "" {
			return nil, fmt.Errorf("%s: %w: name it with --format, one of %s", file, ErrUnknown, strings.Join(Formats, ", "))
		}
	}
	t := &Trace{Name: file, Format: format}
	switch format {
	case SWF:
		err = t.readSWF(r)
	case Philly:
		err = t.readPhilly(r)
	default:
		err = t.readTable(r)
	}
	if err != nil {
		return nil, err
	}
	t.finish()
	if len(t.Jobs) == 0 {
		if len(t.Problems) > 0 {
			return nil, fmt.Errorf("%w: %w", ErrNoJobs, t.Problems[0])
		}
		return nil, fmt.Errorf("%s: %w", file, ErrNoJobs)
	}
	return t, nil
}

// detect returns the format of a file by its beginning, "" if that does not tell.
func detect(head string) Format {
	head = strings.TrimPrefix(strings.TrimSpace(head), "\ufeff")
	line, _, _ := strings.Cut(head, "\n")
	columns := strings.Split(strings.TrimSpace(line), ",")
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(columns, name) })
	}
	switch {
	case strings.HasPrefix(head, ";"), len(columns) == 1 && len(strings.Fields(line)) == swfFields:
		return SWF
	case strings.HasPrefix(head, "["), strings.HasPrefix(head, "{"):
		return Philly
	case has("gpu_spec", "num_gpu"):
		return OpenB
	case has("vc", "gpu_num"):
		return Helios
	case has("plan_gpu", "inst_num"):
		return PAI
	case has("submit", "runtime"):
		return CSV
	}
	return ""
}
