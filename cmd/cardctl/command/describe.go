package command

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// description prints findings as kubectl describes objects.
type description struct {
	strings.Builder
	width int // at which lines are folded, 0 for none
}

// describeEach describes values, with an empty line between two of them.
func describeEach[T any](all []T, width int, describe func(*description, T)) string {
	d := &description{width: width}
	for i, each := range all {
		if i > 0 {
			d.WriteString("\n")
		}
		describe(d, each)
	}
	return d.String()
}

// line prints a name and a text. It prints nothing for an empty text.
func (d *description) line(name, text string) {
	if text != "" {
		fmt.Fprintf(d, "%-11s %s\n", name, fold(oneLine(text), d.width, 12))
	}
}

// list prints rows at a name.
func (d *description) list(name string, rows []string) {
	for _, row := range rows {
		d.line(name, "- "+row)
		name = ""
	}
}

// texts returns the texts of values.
func texts[T fmt.Stringer](all []T) (rows []string) {
	for _, each := range all {
		rows = append(rows, each.String())
	}
	return rows
}

// finding prints one finding.
func (d *description) finding(f explain.Finding) {
	podGroup := f.Name
	if f.Ended == "" { // a job that has ended may have none
		podGroup += ", " + f.Phase
	}

	state := string(f.State)
	if detail := f.Ended + string(f.Stage); detail != "" { // a job that has ended is at no stage
		state += fmt.Sprintf(" (%s)", detail)
	}

	d.line("Job:", f.Namespace+"/"+f.Owner)
	d.line("PodGroup:", podGroup)
	d.line("Queue:", f.Queue)
	d.line("State:", state)
	d.line("Pods:", podsOf(f))
	d.line("Gang:", f.Broken)
	d.line("Age:", ago(ptr.Deref(f.Since, metav1.Time{}).Time))

	if f.Rule != "" {
		d.line("Rule:", ruleAt(f.Rule, f.Level))
		d.line("Why:", f.Message)
	}

	if f.Verdict != nil {
		d.line("Verdict:", fmt.Sprintf("%s: %s", f.Verdict.Kind, f.Verdict))
	}

	if f.Pod != "" {
		d.line("Pod:", fmt.Sprintf("%s is the first that is refused; %d could be placed", f.Pod, f.Pods.Fit))
	}

	d.list("Nodes:", texts(f.Nodes))
	d.list("Order:", texts(f.Behind))
	d.list("To change:", slices.Concat(f.Advice, texts(f.Holders)))

	var lost []string
	for _, r := range f.Reclaimers {
		lost = append(lost, r.Lost())
	}

	d.line("Reclaim:", f.Safety)
	d.line("Notice:", f.Notice)
	d.line("Work:", f.Unsaved)
	d.list("Evicted:", lost)
	d.list("Wanted by:", texts(f.Wanted))
}

// ruleAt names a rule and the queue that refuses by it, "" for none.
func ruleAt(rule report.Rule, queue string) string {
	if queue == "" {
		return string(rule)
	}
	return string(rule) + " at queue " + queue
}

// podsOf counts the pods of a job in words.
func podsOf(f explain.Finding) string {
	switch {
	case f.State == explain.Finished && f.Pods.Total == 0:
		return "none left"
	case f.State == explain.Finished:
		return fmt.Sprintf("%d, of which none waits", f.Pods.Total)
	case f.Pods.Total == 0:
		return fmt.Sprintf("none yet; %d needed to start", f.Pods.Minimum)
	}
	return fmt.Sprintf("%d, of which %d placed and %d waiting; %d needed to start",
		f.Pods.Total, f.Pods.Placed, f.Pods.Waiting, f.Pods.Minimum)
}
