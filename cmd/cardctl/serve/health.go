package serve

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
	"github.com/capacity-card/capacity-card/cmd/cardctl/validate"
)

// healthPage is the content of the view Health.
type healthPage struct {
	Configuration configuration    `json:"configuration"`
	Notes         []model.Note     `json:"notes"`
	Problems      []*problem       `json:"problems"` // groups of Issues
	Issues        []validate.Issue `json:"issues"`
	Checked       time.Time        `json:"checked"`
	Refused       []refusal        `json:"refused"` // jobs that wait, by rule
	Scheduler     *model.Scheduler `json:"scheduler,omitempty"`
	Server        process          `json:"server"`
	Objects       []objectCount    `json:"objects"`
	Unread        []string         `json:"unread,omitempty"` // kinds that the server cannot list

	// The page shows all problems, or the issues of the problem that is opened.
	ShownProblems []*problem       `json:"-"`
	Opened        *problem         `json:"-"`
	ShownIssues   []validate.Issue `json:"-"`
	Pages         page.Pages       `json:"-"`
}

// configuration is the scheduler's configuration in force.
type configuration struct {
	Plugin    string   `json:"plugin"`
	Hierarchy bool     `json:"hierarchy"`
	Release   string   `json:"release"`
	Actions   []string `json:"actions"`
	LeftOut   []string `json:"leftOut,omitempty"`
	// Arguments are the arguments of the plugin as they are given. Policies are the arguments that
	// decide about admission or eviction, as they are in force.
	Arguments map[string]any    `json:"arguments,omitempty"`
	Policies  map[string]string `json:"policies,omitempty"`
}

// refusal counts the jobs that one rule refuses. Startable stands for jobs that nothing refuses.
type refusal struct {
	Rule string `json:"rule"`
	Jobs int    `json:"jobs"`
	Pods int    `json:"pods"`
}

// process holds the resources that this server uses.
type process struct {
	Reading   float64   `json:"readingMilliseconds"` // to make the model
	Memory    uint64    `json:"memoryBytes"`         // of the process
	Processor float64   `json:"processorSeconds"`    // since it started
	Started   time.Time `json:"started"`
	Pages     int       `json:"openPages"`
}

// Took is the time to make the model in seconds.
func (p process) Took() float64 { return math.Round(p.Reading/100) / 10 }

// MiB is the memory in MiB.
func (p process) MiB() float64 { return float64(p.Memory >> 20) }

type objectCount struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// healthView shows the configuration in force and the problems.
func healthView(q *request) (any, any, error) {
	c := q.Configuration
	p := &healthPage{
		Configuration: configuration{
			Plugin:    c.Plugin,
			Hierarchy: c.Hierarchy,
			Release:   c.Release.String(),
			LeftOut:   c.LeftOut,
			Arguments: c.Arguments,
			Policies:  q.Policies,
		},
		Notes:     append([]model.Note{}, q.Notes...),
		Checked:   q.Checks.Time,
		Refused:   q.refused(),
		Scheduler: q.Scheduler,
		Server:    q.server.process(q.Took),
		Issues:    q.issues(),
	}
	p.Problems = problemsOf(p.Issues, q.Checks.Alike)
	p.openProblems(q)

	for _, a := range c.Actions {
		p.Configuration.Actions = append(p.Configuration.Actions, a.Name())
	}

	o := q.Objects
	p.Unread = o.Unread
	p.Objects = []objectCount{
		{"Node", len(o.Nodes)},
		{"Queue", len(o.Queues)},
		{"PodGroup", len(o.PodGroups)},
		{"Job", len(o.Jobs)},
		{"Pod", len(o.Pods)},
	}
	return p, struct {
		document.Head
		*healthPage
	}{document.Of("Health"), p}, nil
}

// issues returns the issues of objects that may be seen.
func (q *request) issues() []validate.Issue {
	return slices.DeleteFunc(slices.Clone(q.Checks.Issues), func(i validate.Issue) bool {
		return !q.maySee(i.Object)
	})
}

// maySee reports whether the object of an issue may be seen: kind/name or kind/namespace/name.
func (q *request) maySee(object string) bool {
	parts := strings.Split(object, "/")

	switch {
	case parts[0] == "Node":
		return q.seen.viewer.Nodes(q.Context())
	case parts[0] == "Queue" || parts[0] == "":
		return true
	case len(parts) == 3:
		return q.seen.namespace(parts[1])
	}
	return q.seen.namespace(metav1.NamespaceDefault)
}

// refused counts the jobs that wait by rule. The rule with the most jobs is first. Jobs that nothing refuses are last.
func (q *request) refused() []refusal {
	counts := map[string]*refusal{}
	for i := range q.Waiting {
		f := &q.Waiting[i]
		rule := string(cmp.Or(f.Rule, model.Startable))
		if counts[rule] == nil {
			counts[rule] = &refusal{Rule: rule}
		}
		counts[rule].Jobs++
		counts[rule].Pods += f.Pods.Waiting
	}

	all := []refusal{}
	for _, r := range counts {
		all = append(all, *r)
	}

	startable := func(r refusal) int { return bit(r.Rule == string(model.Startable)) }
	slices.SortFunc(all, func(a, b refusal) int {
		return cmp.Or(
			cmp.Compare(startable(a), startable(b)),
			cmp.Compare(b.Jobs, a.Jobs),
			cmp.Compare(a.Rule, b.Rule),
		)
	})
	return all
}

// process measures this process.
func (s *Server) process(took time.Duration) process {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	p := process{
		Reading: float64(took.Microseconds()) / 1000,
		Memory:  memory.Sys - memory.HeapReleased,
		Started: s.started,
		Pages:   s.events.open(),
	}

	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		p.Processor = time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
	}
	return p
}
