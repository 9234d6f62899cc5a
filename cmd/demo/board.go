package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/index/card"
)

const (
	// burst is the time over which changes are gathered into one set of lines.
	burst = 100 * time.Millisecond
	// calm is the time without an event before the table is printed and an outcome counts. It is five scheduling
	// cycles, so that wrong decisions of the scheduler would have shown.
	calm = time.Second
	// width bounds the columns that the demo prints.
	width = 100
)

// board prints the events that the watcher sees. When no more events come, it prints the table, if it differs from the
// last one.
type board struct {
	watcher *watcher
	out     io.Writer
	start   time.Time

	last  view
	table string
	// printed has, by job, the last printed reason for which it waits.
	printed map[string]string
	// violations are the moments at which a queue had more of a card than its quota.
	violations []string
}

// until prints events until the cluster has settled and reached reports no differences. If that takes longer than
// limit, it fails and names the differences left. It fails at once if a queue has more of a card than its quota.
func (b *board) until(ctx context.Context, limit time.Duration, reached func(view) []string) error {
	deadline := time.Now().Add(limit)
	for {
		settled, err := b.next(ctx)
		if err != nil {
			return err
		}
		if len(b.violations) > 0 {
			return fmt.Errorf("a quota was exceeded:\n  %s", strings.Join(b.violations, "\n  "))
		}

		differences := reached(b.last)
		if settled && len(differences) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("it did not come out within %s:\n  %s", limit, strings.Join(differences, "\n  "))
		}
	}
}

// follow prints events until ctx ends.
func (b *board) follow(ctx context.Context) error {
	for {
		table := b.table
		if _, err := b.next(ctx); err != nil {
			return err
		}

		if b.table != table {
			fmt.Fprintln(b.out)
		}
	}
}

// next waits for an event and prints it. If there is none for a while, it prints the table and reports that the cluster
// has settled.
func (b *board) next(ctx context.Context) (settled bool, err error) {
	idle := time.NewTimer(calm)
	defer idle.Stop()

	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()

		case <-idle.C:
			b.print(waits(b.last, b.printed, true))
			b.printTable()
			return true, nil

		case <-b.watcher.changed:
			time.Sleep(burst)
			if happened, err := b.update(); happened || err != nil {
				return false, err
			}
		}
	}
}

// update prints the events since its last call, and reports whether there were any. Most changes of objects are
// bookkeeping that the demo does not show.
func (b *board) update() (bool, error) {
	s, err := b.watcher.snapshot()
	if err != nil {
		return false, err
	}

	next := newView(s)
	lines := append(happened(b.last, next), waits(next, b.printed, false)...)
	b.print(lines)

	for _, queue := range next.queues {
		b.violations = append(b.violations, queue.excess()...)
	}

	b.last = next
	return len(lines) > 0, nil
}

func (b *board) print(lines []line) {
	for _, line := range lines {
		fmt.Fprintf(b.out, "  %5.1fs  %-8s  %-8s  %s\n", time.Since(b.start).Seconds(), line.queue, line.job, line.text)
		if line.quote != "" {
			fmt.Fprintln(b.out, wrapped(strings.Fields(line.quote), 32))
		}
	}
}

func (b *board) printTable() {
	if table := queueTable(b.last); table != b.table {
		fmt.Fprintf(b.out, "\n%s", table)
		b.table = table
	}
}

// line is an event of a queue or of a job in it. quote holds the message of the scheduler about it.
type line struct {
	queue, job, text, quote string
}

// happened describes the differences between two views, except the reasons for which jobs wait.
func happened(before, after view) []line {
	var lines []line
	for _, warning := range after.warnings[len(before.warnings):] {
		text := "WARNING event on the Queue, reason " + warning.reason + ":"
		lines = append(lines, line{warning.queue, "", text, warning.message})
	}

	for _, job := range after.jobs {
		old := before.job(job.name)
		say := func(format string, arguments ...any) {
			lines = append(lines, line{job.queue, job.name, fmt.Sprintf(format, arguments...), ""})
		}

		for _, text := range evictionsOf(job.name, after.evicted[len(before.evicted):]) {
			say("%s", text)
		}
		if old.stage == waiting && job.stage != waiting || old.stage == "" && job.stage != waiting {
			say("admitted: its pods are created")
		}

		switch {
		case job.stage == completed && old.stage != completed:
			say("completed")
		case job.stage == completed || job.succeeded == job.pods: // completed in a moment
		case old.running == 0 && job.running > 0:
			say("started: %d of %d pods run; it holds %s", job.running, job.pods, job.cards)
		case old.running != job.running || job.running > 0 && !maps.Equal(old.cards, job.cards):
			say("now %d of %d pods run; it holds %s", job.running, job.pods, job.cards)
		}
	}

	for _, job := range before.jobs {
		if !slices.ContainsFunc(after.jobs, func(other jobRow) bool { return other.name == job.name }) {
			lines = append(lines, line{job.queue, job.name, "deleted", ""})
		}
	}
	return lines
}

// waits describes why jobs wait, and keeps the printed texts in printed. A job without any pod on a node is printed at
// once. The reason for which a job has no more pods may change with every pod that gets a node. So it is printed when
// the cluster has settled.
func waits(v view, printed map[string]string, settled bool) []line {
	var lines []line
	for _, job := range v.jobs {
		text := job.waits()
		switch {
		case job.reason == "":
			delete(printed, job.name)
		case text+job.reason != printed[job.name] && (settled || len(job.cards) == 0 && printed[job.name] == ""):
			printed[job.name] = text + job.reason
			lines = append(lines, line{job.queue, job.name, text, job.reason})
		}
	}
	return lines
}

// waits describes the waiting part of a job, and the place of the reason.
func (j jobRow) waits() string {
	if j.stage == waiting {
		return "not admitted, no pods; the event on its PodGroup:"
	}
	if j.unplaced == 1 {
		return "1 pod waits; the condition of the pod:"
	}
	return fmt.Sprintf("%d pods wait; the condition of a pod:", j.unplaced)
}

// evictionsOf describes the evictions of a job's pods, which Volcano names after the job, the task and a number: a line
// for each cause.
func evictionsOf(job string, all []eviction) (lines []string) {
	pods := map[string][]string{} // by cause
	for _, e := range all {
		if strings.HasPrefix(e.pod, job+"-") {
			pods[e.by] = append(pods[e.by], e.pod)
		}
	}
	for _, by := range slices.Sorted(maps.Keys(pods)) {
		lines = append(lines, fmt.Sprintf("EVICTED by %s: %s", by, strings.Join(pods[by], ", ")))
	}
	return lines
}

// queueTable has a row for each card of each queue, and the idle cards below.
func queueTable(v view) string {
	rows := []string{"QUEUE\tCARD\tQUOTA\tDESERVED\tALLOCATED\t"}
	cell := func(amount int64, known bool) string {
		if !known {
			return "-"
		}
		return fmt.Sprint(amount)
	}

	for _, queue := range v.queues {
		first := strings.Repeat("  ", queue.depth) + queue.name
		for _, name := range queue.cards() {
			deserved, known := queue.share(name)
			note := ""
			if known && queue.allocated[name] > deserved {
				note = "<- borrows"
			}

			rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%s", first, name, cell(queue.bound(name)),
				cell(deserved, known), queue.allocated[name], note))
			first = ""
		}
	}

	idle := strings.SplitAfter(v.idle.String(), ", ")
	return aligned(rows) + wrapped(append([]string{"Idle on the nodes:"}, idle...), 0) + "\n"
}

// jobTable has a row for each job. Below the row of a job that waits, it has the reason.
func jobTable(v view) string {
	rows := []string{"QUEUE\tJOB\tSTAGE\tPODS\tCARDS"}
	for _, job := range v.jobs {
		pods := fmt.Sprintf("%d of %d run", job.running, job.pods)
		if job.stage == completed {
			pods = fmt.Sprintf("%d of %d done", job.succeeded, job.pods)
		}

		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s", job.queue, job.name, job.stage, pods, job.cards))
	}

	// The first line is the header, so that job i-1 is in line i.
	var text strings.Builder
	for i, row := range strings.Split(strings.TrimSuffix(aligned(rows), "\n"), "\n") {
		fmt.Fprintln(&text, row)
		if i > 0 && v.jobs[i-1].reason != "" {
			fmt.Fprintln(&text, wrapped(strings.Fields(v.jobs[i-1].reason), 9))
		}
	}
	return text.String()
}

// nodeTable has a row for each kind of card of each node. The plugin finds the cards in the same way.
func nodeTable(nodes []*corev1.Node) string {
	rows := []string{"NODE\tCARDS\tNAME\tASKED FOR AS"}

	for _, node := range nodes {
		first := node.Name
		for _, each := range card.OnNode(node, nil).Cards {
			if count := int64(each.Milli.Cards()); count > 0 {
				rows = append(rows, fmt.Sprintf("%s\t%d\t%s\t%s", first, count, each.Name, each.Resource))
				first = ""
			}
		}
	}
	return aligned(rows)
}

// aligned puts the tab-separated cells of the rows below each other.
func aligned(rows []string) string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(rows, "\n"))
	_ = table.Flush() // a strings.Builder takes everything

	lines := strings.Split(text.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// wrapped sets words in lines of the board's width that are indented.
func wrapped(words []string, indent int) string {
	margin := strings.Repeat(" ", indent)

	var lines []string
	line := ""
	for _, word := range words {
		word = strings.TrimSpace(word)
		if line != "" && indent+len(line)+1+len(word) > width {
			lines = append(lines, margin+line)
			line = ""
		}

		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, margin+line), "\n")
}
