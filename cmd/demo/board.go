package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	// burst is how long changes are gathered into one set of lines.
	burst = 100 * time.Millisecond
	// calm is how long nothing must have happened before the table is printed, and an outcome counts: five scheduling
	// cycles, so that what the scheduler is not supposed to do would have shown.
	calm = time.Second
)

// board prints what the watcher sees: a line for each thing that happens, and whenever things have calmed down the
// table, if it differs from the last one.
type board struct {
	watcher *watcher
	out     io.Writer
	start   time.Time

	last  view
	table string
	// violations are the moments at which a queue had more than its capability.
	violations []string
}

// until prints what happens until things have calmed down and reached reports no differences. When that takes longer
// than limit it fails and names the differences left.
func (b *board) until(ctx context.Context, limit time.Duration, reached func(view) []string) error {
	deadline := time.Now().Add(limit)
	for {
		settled, err := b.next(ctx)
		if err != nil {
			return err
		}
		differences := reached(b.last)
		if settled && len(differences) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("within %s:\n  %s", limit, strings.Join(differences, "\n  "))
		}
	}
}

// follow prints what happens until ctx ends.
func (b *board) follow(ctx context.Context) error {
	for {
		if _, err := b.next(ctx); err != nil {
			return err
		}
	}
}

// next waits for something to happen and prints it, or prints the table when nothing does and reports that things have
// settled.
func (b *board) next(ctx context.Context) (settled bool, err error) {
	idle := time.NewTimer(calm)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-idle.C:
			b.printTable()
			return true, nil
		case <-b.watcher.changed:
			time.Sleep(burst)
			if happened, err := b.printLines(); happened || err != nil {
				return false, err
			}
		}
	}
}

// printLines writes what happened since it was last called, and reports whether anything did: most changes of objects
// are bookkeeping that the demo does not show.
func (b *board) printLines() (bool, error) {
	s, err := b.watcher.snapshot()
	if err != nil {
		return false, err
	}
	next := newView(s)
	lines := happened(b.last, next)
	for _, line := range lines {
		fmt.Fprintf(b.out, "  %5.1fs  %s\n", time.Since(b.start).Seconds(), line)
	}
	for _, queue := range next.queues {
		if !queue.allocated.within(queue.capability) {
			b.violations = append(b.violations, fmt.Sprintf("queue %s had %s, and its capability is %s",
				queue.name, queue.allocated, queue.capability))
		}
	}
	b.last = next
	return len(lines) > 0, nil
}

func (b *board) printTable() {
	if table := queueTable(b.last); table != b.table {
		fmt.Fprintf(b.out, "\n%s", table)
		b.table = table
	}
}

// happened words the differences between two views.
func happened(before, after view) []string {
	var lines []string
	for _, job := range after.jobs {
		old := before.job(job.name)
		say := func(format string, arguments ...any) {
			lines = append(lines, fmt.Sprintf("%-10s %-7s %s", job.queue, job.name, fmt.Sprintf(format, arguments...)))
		}
		if evicted := evictedOf(job.name, after.evicted[len(before.evicted):]); len(evicted) > 0 {
			say("EVICTED by reclaim: %s", strings.Join(evicted, ", "))
		}
		if old.stage == waiting && job.stage != waiting || old.stage == "" && job.stage != waiting {
			say("enqueued")
		}
		switch {
		case job.stage == completed && old.stage != completed:
			say("completed")
		case job.stage == completed:
		case old.running == 0 && job.running > 0:
			say("started: %d of %d pods run", job.running, job.pods)
		case old.running != job.running:
			say("now runs %d of %d pods", job.running, job.pods)
		}
		// What keeps a running job from having more pods is in the table at the end; it changes with every pod.
		if job.running == 0 && job.reason != "" && job.reason != old.reason {
			say("waits: %s", job.reason)
		}
	}
	for _, job := range before.jobs {
		if !slices.ContainsFunc(after.jobs, func(other jobRow) bool { return other.name == job.name }) {
			lines = append(lines, fmt.Sprintf("%-10s %-7s deleted", job.queue, job.name))
		}
	}
	return lines
}

// evictedOf picks a job's pods, which Volcano names after the job, the task and a number.
func evictedOf(job string, pods []string) []string {
	var own []string
	for _, pod := range pods {
		if strings.HasPrefix(pod, job+"-") {
			own = append(own, pod)
		}
	}
	return own
}

func queueTable(v view) string {
	rows := []string{"QUEUE\tDESERVED\tGUARANTEE\tCAPABILITY\tALLOCATED\tRUNNING\tINQUEUE\tWAITING\t"}
	for _, queue := range v.queues {
		note := ""
		if !queue.allocated.within(queue.deserved) {
			note = "<- borrows"
		}
		rows = append(rows, fmt.Sprintf("%s%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s", strings.Repeat("  ", queue.depth), queue.name,
			queue.deserved, queue.guarantee, queue.capability, queue.allocated,
			queue.jobs[running], queue.jobs[inqueue], queue.jobs[waiting], note))
	}
	return aligned(rows)
}

func jobTable(v view) string {
	rows := []string{"QUEUE\tJOB\tSTAGE\tPODS\tWHY NOT MORE"}
	for _, job := range v.jobs {
		pods := fmt.Sprintf("%d of %d run", job.running, job.pods)
		if job.stage == completed {
			pods = fmt.Sprintf("%d of %d done", job.succeeded, job.pods)
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s", job.queue, job.name, job.stage, pods, job.reason))
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
