package command

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress is a line on stderr that each report replaces. It shows only if stderr is a terminal, or lines are forced,
// and the work takes longer than patience.
type progress struct {
	mu      sync.Mutex
	out     io.Writer // nil if stderr is no terminal
	lines   bool      // stderr is no terminal: each report is a line of its own, and there are fewer
	begun   time.Time
	written time.Time
	shown   bool
}

// patience is the time until the first report shows.
const patience = 500 * time.Millisecond

// newProgress reports progress on a terminal. With forced, it also does on another stream.
func newProgress(out io.Writer, forced bool) *progress {
	p := &progress{out: out, begun: time.Now(), lines: !isTerminal(out)}
	if p.lines && !forced {
		p.out = nil
	}
	return p
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// report may be called from many goroutines.
func (p *progress) report(what string, done, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()

	now := time.Now()
	if p.out == nil {
		return
	}
	if p.lines {
		if now.Sub(p.written) >= 20*patience {
			p.written = now
			fmt.Fprintf(p.out, "%s: %d of %d\n", what, done, all)
		}
		return
	}

	if now.Sub(p.begun) < patience || now.Sub(p.written) < patience/5 {
		return
	}
	p.written = now
	p.shown = true
	fmt.Fprintf(p.out, "\r\x1b[K%s: %d of %d", what, done, all)
}

// done removes the line.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}
