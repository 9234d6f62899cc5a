package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/plugin"
)

const topLong = `Shows for each queue what it deserves, what is allocated, what is reserved for
admitted jobs (INQUEUE), its share, and a bar for each card: how much of its
capability is allocated (#) or reserved (+). With -o wide it shows cpu and memory.

In a terminal the view refreshes until Ctrl-C. With --once, from files, or into a
pipe it prints once.`

func newTop(s *source) *cobra.Command {
	var once bool
	var interval time.Duration
	cmd := &cobra.Command{
		Use: "top [QUEUE]", Short: "Queues with what they deserve and have", Long: topLong,
		Example: "  cardctl top\n  cardctl top research --once -o wide",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			view := func(ctx context.Context) (string, error) { return s.view(ctx, strings.Join(arguments, "")) }
			if once || len(s.files) > 0 || s.output == asJSON || s.output == asYAML || !isTerminal(s.streams.Out) {
				text, err := view(cmd.Context())
				fmt.Fprint(s.streams.Out, text)
				return err
			}
			return follow(cmd.Context(), s.streams.Out, interval, view)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "Print the queues once")
	cmd.Flags().DurationVar(&interval, "interval", 2*time.Second, "Time between two views in a terminal")
	s.bind(cmd, formats...)
	return cmd
}

// follow refreshes a view. An error of the first view is returned. Later errors are
// shown below the last view, until the cluster is back.
func follow(ctx context.Context, out io.Writer, interval time.Duration, view func(context.Context) (string, error)) error {
	text, err := view(ctx)
	if err != nil {
		return err
	}
	for {
		// Moves to the top left and clears the view before.
		fmt.Fprintf(out, "\x1b[H\x1b[2J%s\n%s, every %s; Ctrl-C ends\n", text, time.Now().Format(time.TimeOnly), interval)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
		fresh, err := view(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			text += "\n" + firstLine(err)
		default:
			text = fresh
		}
	}
}

// queueView is a queue in JSON and YAML output.
type queueView struct {
	Queue     string        `json:"queue"`
	Parent    string        `json:"parent,omitempty"`
	Depth     int           `json:"depth"`
	State     string        `json:"state,omitempty"`
	Share     float64       `json:"share"`
	Broken    string        `json:"broken,omitempty"`
	Waiting   int           `json:"waitingJobs"` // its own and those below
	Resources []holdingView `json:"resources"`
}

type holdingView struct {
	Resource   string   `json:"resource"`
	Card       bool     `json:"card,omitempty"`
	Deserved   *float64 `json:"deserved"` // null: no bound
	Guarantee  float64  `json:"guarantee"`
	Allocated  float64  `json:"allocated"`
	Inqueue    float64  `json:"inqueue"`
	Capability *float64 `json:"capability"`
}

// view reads the input and makes the text of one view.
func (s *source) view(ctx context.Context, queue string) (string, error) {
	world, configuration, err := s.load(ctx)
	if err != nil {
		return "", err
	}
	var below map[string]bool
	if queue != "" {
		if below, err = subtree(world, queue); err != nil {
			return "", err
		}
	}
	session := engine.Open(world, configuration)
	defer session.Close()
	waiting := waitingJobs(session)
	views := []queueView{}
	for _, a := range session.Tree() {
		if below == nil || below[a.Queue] {
			views = append(views, viewOf(world, a, waiting[a.Queue]))
		}
	}
	var out bytes.Buffer
	if s.output == asJSON || s.output == asYAML {
		err = printData(&out, s.output, document{"QueueList", views})
	} else {
		err = s.topTable(views).print(&out, s.output)
	}
	return out.String(), err
}

// waitingJobs counts the jobs with pods that wait, by queue, with those below.
func waitingJobs(s *engine.Session) map[string]int {
	parents, counts := map[string]string{}, map[string]int{}
	for _, a := range s.Quota.Accounts() {
		parents[a.Queue] = a.Parent
	}
	for _, job := range s.Jobs {
		if job.IsPending() || len(job.TaskStatusIndex[api.Pending]) > 0 {
			for q := string(job.Queue); q != ""; q = parents[q] {
				counts[q]++
			}
		}
	}
	return counts
}

func viewOf(world *engine.World, a plugin.Account, waiting int) queueView {
	v := queueView{Queue: a.Queue, Parent: a.Parent, Depth: a.Depth, Share: a.Share, Waiting: waiting, Resources: []holdingView{}}
	if queue := world.Queue(a.Queue); queue != nil {
		v.State = string(queue.Status.State)
	}
	if a.Broken != nil {
		v.Broken = a.Broken.Error()
	}
	for _, h := range a.Holdings {
		if h.Resource == "pods" || h.Card && h.Allocated == 0 && h.Inqueue == 0 && h.Deserved == 0 && engine.Bounded(h.Capability) == nil {
			continue
		}
		v.Resources = append(v.Resources, holdingView{
			Resource: h.Resource, Card: h.Card, Deserved: engine.Bounded(h.Deserved), Guarantee: h.Guarantee,
			Allocated: h.Allocated, Inqueue: h.Inqueue, Capability: engine.Bounded(h.Capability),
		})
	}
	return v
}

// topTable has a row for each resource of each queue; cards come first.
func (s *source) topTable(views []queueView) *table {
	t := &table{columns: columns("QUEUE", "SHARE", "WAITING", "RESOURCE", "DESERVED", "ALLOCATED", "INQUEUE", "(GUARANTEE)", "CAPABILITY", "USE")}
	for _, v := range views {
		name := strings.Repeat("  ", v.Depth) + v.Queue
		if v.State != "Open" && v.State != "" {
			name += " (" + v.State + ")"
		}
		if v.Broken != "" {
			name += " (broken)"
		}
		share, waiting := fmt.Sprintf("%.2f", v.Share), fmt.Sprint(v.Waiting)
		row := func(h holdingView) {
			amount := func(x float64) string { return explain.Amount(h.Resource, x) }
			deserved, capability := "-", "-"
			if h.Deserved != nil {
				deserved = amount(*h.Deserved)
			}
			if h.Capability != nil {
				capability = amount(*h.Capability)
			}
			t.rows = append(t.rows, []string{name, share, waiting, h.Resource, deserved, amount(h.Allocated), amount(h.Inqueue), amount(h.Guarantee), capability, bar(h)})
			name, share, waiting = "", "", ""
		}
		cards := false
		for _, h := range v.Resources {
			if h.Card {
				row(h)
				cards = true
			}
		}
		for _, h := range v.Resources {
			if !h.Card && (s.output == asWide || !cards) {
				row(h)
			}
		}
	}
	return t
}

// barWidth is the length of a bar in characters.
const barWidth = 20

// bar draws how much of a bound is allocated and reserved.
func bar(h holdingView) string {
	if h.Capability == nil || *h.Capability == 0 {
		return ""
	}
	part := func(x float64) int { return int(min(1, x / *h.Capability)*barWidth + 0.5) }
	allocated := part(h.Allocated)
	reserved := part(h.Allocated+h.Inqueue) - allocated
	return "[" + strings.Repeat("#", allocated) + strings.Repeat("+", reserved) + strings.Repeat(".", barWidth-allocated-reserved) + "]"
}
