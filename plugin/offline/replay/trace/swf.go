package trace

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// swfFields is the number of fields of a line. -1 stands for an unknown one.
const swfFields = 18

// The fields of the Standard Workload Format, from 0.
const (
	swfJob = iota
	swfSubmit
	_
	swfRun
	swfAllocated
	_
	_
	swfRequested
	_
	_
	_
	swfUser
	_
	_
	swfQueue
)

// swfPod is the number of processors of a pod, at most: those of a common node with cards.
const swfPod = 8

// readSWF reads the Standard Workload Format. A processor counts as a card.
func (t *Trace) readSWF(in io.Reader) error {
	r := bufio.NewReader(in)
	reasons := counts{}
	for line := 1; ; line++ {
		text, err := r.ReadString('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("reading %s: %w", t.Name, err)
		}
		whole := err == nil
		comment, _, _ := strings.Cut(text, ";")
		if fields := strings.Fields(comment); len(fields) > 0 {
			w := &row{cells: fields, line: line, counts: &reasons}
			switch {
			case len(fields) != swfFields && !whole:
				w.fail("the file ends in the middle of a line: %d of %d fields", len(fields), swfFields)
			case len(fields) != swfFields:
				w.fail("%d fields: expected %d", len(fields), swfFields)
			}
			t.add(w, (*row).swf)
		}
		if !whole {
			break
		}
	}
	reasons.into(t)
	return nil
}

// swf reads a line of the Standard Workload Format.
func (w *row) swf() *Job {
	field := func(i int) float64 {
		x, err := strconv.ParseFloat(w.cells[i], 64)
		if err != nil {
			w.fail("field %d: %q is not a number", i+1, w.cells[i])
		}
		return x
	}
	submit := field(swfSubmit)
	run := field(swfRun)
	processors := field(swfRequested)
	if processors <= 0 {
		processors = field(swfAllocated)
	}
	switch {
	case w.wrong != "":
		return nil
	case run < -1 || submit < 0 || run > mostSeconds || submit > mostSeconds:
		w.fail("submitted at %s, for %s seconds: expected times that are not negative", w.cells[swfSubmit], w.cells[swfRun])
		return nil
	case run < 0 || processors <= 0:
		return w.leaveOut("the runtime or the number of processors is unknown")
	case processors > mostCards:
		w.fail("%.0f processors: expected at most %d", processors, mostCards)
		return nil
	}
	pods, cards := divide(int64(processors), swfPod)
	return &Job{
		Name: "job-" + name(w.cells[swfJob]), Namespace: known("user-", w.cells[swfUser]), Queue: known("", w.cells[swfQueue]),
		Submit: seconds(w, "submit", submit), Runtime: time.Duration(run * float64(time.Second)), Pods: pods, Cards: cards,
	}
}

// known is a number as a name, "" for one that is unknown.
func known(prefix, number string) string {
	if strings.HasPrefix(number, "-") {
		return ""
	}
	return prefix + name(number)
}
