package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// TestScenes runs the files of testdata/scenes and testdata/found. The documentation of the package describes their
// commands. After each event, each action and each session, the invariants of random worlds hold.
//
//	go test ./plugin/internal/chaos -run TestScenes -rewrite
//
// writes the results below the commands.
func TestScenes(t *testing.T) {
	defer testbed.OneAtATime()()
	for _, dir := range []string{"scenes", "found"} {
		datadriven.Walk(t, filepath.Join("testdata", dir), func(t *testing.T, path string) {
			s := &scenes{defined: map[string]string{}}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) })
		})
	}
}

// scenes runs the commands of one file.
type scenes struct {
	defined map[string]string
	runs    []*sceneRun // of the scene, by variant
}

// run runs a command of a file, and returns its result.
func (s *scenes) run(t *testing.T, d *datadriven.TestData) string {
	var known bool
	for _, arg := range d.CmdArgs {
		switch {
		case d.Cmd == "define":
			s.defined[arg.Key] = d.Input
			return ""
		case arg.Key == "known":
			known = true
		case arg.Key == "from":
			if rules, err := release.Parse(arg.Vals[0]); err != nil || release.Built() < rules {
				require.NoError(t, err)
				return d.Expected
			}
		default:
			d.Fatalf(t, "unknown: %s", arg.Key)
		}
	}
	script, err := ParseScript(d.Input, s.defined)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	switch d.Cmd {
	case "scene":
		s.runs = nil
		for _, variant := range script.Variants {
			s.runs = append(s.runs, &sceneRun{name: strings.Join(variant, " "), variant: variant})
		}
	case "then":
	default:
		d.Fatalf(t, "unknown command")
	}
	defer func(was bool) { *worldKnown = was }(*worldKnown)
	*worldKnown = known
	for _, r := range s.runs {
		r.out = nil
		steps, err := script.Steps(r.variant)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		r.play(t, steps)
		if t.Failed() {
			t.Logf("with %s", r.name)
		}
	}
	return s.text()
}

// text returns the text of the first run, and the texts of the other runs where they differ.
func (s *scenes) text() string {
	b := &strings.Builder{}
	for i, r := range s.runs {
		indent := ""
		if i > 0 {
			if slices.Equal(r.out, s.runs[0].out) {
				continue
			}
			fmt.Fprintf(b, "with %s\n", r.name)
			indent = "  "
		}
		for _, line := range r.out {
			fmt.Fprintln(b, wrapped(indent+line))
		}
	}
	return b.String()
}

// wrapped is a line with at most 110 columns, unless a word is longer.
func wrapped(line string) string {
	for at := 110; at < len(line); {
		space := strings.LastIndex(line[:at], " ")
		if space <= at-110+8 {
			break
		}
		line = line[:space] + "\n     " + line[space:]
		at = space + 6 + 110
	}
	return line
}

// sceneRun is a scene with one configuration.
type sceneRun struct {
	name    string
	variant []string
	config  Config
	w       *chaos // nil before its first cycle
	last    *chaosCycle
	deeds   []Deed // before the next cycle
	found   *violation
	out     []string
}

func (r *sceneRun) say(format string, args ...any) {
	r.out = append(r.out, fmt.Sprintf(format, args...))
}

// play runs the steps of a script, until an invariant is broken.
func (r *sceneRun) play(t *testing.T, steps []Step) {
	resetVolcano()
	for _, step := range steps {
		if r.found != nil {
			return
		}
		switch step.Command {
		case "config":
			require.NoError(t, r.config.Set(step.Words...))
			if r.w != nil {
				r.w.Config = r.config
			}
		case "cycle":
			n := 1
			if len(step.Words) > 0 {
				n, _ = strconv.Atoi(step.Words[0])
			}
			for range n {
				r.then(t, func(w *chaos) { r.last = w.next(r.take(), nil) })
			}
		case "settle":
			r.then(t, func(w *chaos) {
				if len(r.deeds) > 0 {
					w.next(r.take(), nil)
				}
				w.cycles = w.Cycle
				w.settle(nil)
			})
		case "admit":
			r.then(t, func(w *chaos) { r.last = r.admit(t, w, step.Words) })
		case "ask":
			r.then(t, func(w *chaos) { r.ask(t, w, step.Words) })
		case "show":
			require.Empty(t, r.deeds, "these wait for a cycle")
			r.show(t, step.Words)
		default:
			r.deeds = append(r.deeds, step.Deed)
		}
	}
}

// then goes on with the world.
func (r *sceneRun) then(t *testing.T, run func(w *chaos)) {
	if r.w == nil {
		require.NoError(t, r.config.Set(r.variant...))
		if r.config.Plugin == "" {
			r.config.Plugin = session.Name
		}
		for key := range r.config.Arguments {
			require.Contains(t, arguments.Known, key)
		}
		r.w = newChaos(r.config)
	}
	if r.found != nil {
		return
	}
	if r.found = r.w.guard(func() { run(r.w) }); r.found == nil {
		return
	}
	if *worldKnown {
		r.say("broken: %s", r.found.invariant)
	} else {
		what, _, _ := strings.Cut(r.found.Error(), "\n")
		r.say("broken: %s", what)
		t.Log(strings.Join(r.w.History, "\n"))
	}
}

// take returns the deeds before the next cycle.
func (r *sceneRun) take() []Deed {
	deeds := r.deeds
	r.deeds = nil
	return deeds
}

// admit asks whether jobs can be admitted, in their order, and admits them, as the action enqueue does.
func (r *sceneRun) admit(t *testing.T, w *chaos, names []string) *chaosCycle {
	quietly := names[0] == "quietly"
	if quietly {
		names = names[1:]
	}
	w.begin(r.take()...)
	c := w.open(nil)
	c.checkAll(atOpen)
	for _, name := range names {
		job, before := c.jobOf(w.Job(name)), r.promises(c)
		may := c.JobEnqueueable(job)
		require.Equal(t, before, r.promises(c), "the question changes an account")
		switch {
		case may:
			c.JobEnqueued(job)
			job.PodGroup.Status.Phase = scheduling.PodGroupInqueue
			r.say("%s is admitted", name)
		case quietly:
			r.say("%s waits", name)
		default:
			r.say("%s waits: %s", name, job.JobFitErrors)
		}
	}
	c.checkAll(afterAction)
	c.noteAdmitted()
	c.noteHeld()
	jobs, promises := c.Jobs, r.promises(c)
	framework.CloseSession(c.Session)
	w.follow(jobs)
	next := w.open(nil)
	require.Equal(t, r.promises(next), promises, "the next session has other promises")
	framework.CloseSession(next.Session)
	return c
}

// promises returns the promised amounts. They include the number of lists only where promises are displaced. Elsewhere,
// a question may decide which lists of cards can be served at all.
func (r *sceneRun) promises(c *chaosCycle) map[string]float64 {
	all := testbed.Promises(c.own.Index, c.own.Intake, &c.own.Memory.Names, c.own.Memory.Admit.Reservations.Len())
	if !slices.ContainsFunc(slices.Collect(maps.Keys(c.World.Queues)), c.displaces) {
		delete(all, "lists")
	}
	return all
}

// ask asks which pods the gang actions of Volcano v1.15 may evict for a job, in any release.
func (r *sceneRun) ask(t *testing.T, w *chaos, words []string) {
	kind := map[string]release.EvictionKind{"gang-reclaim": release.GangReclaim, "gang-preempt": release.GangPreempt}[words[0]]
	require.NotZero(t, kind, "ask: unknown: %s", words[0])
	w.begin(r.take()...)
	c := w.open(nil)
	c.checkAll(atOpen)
	r.say("%s of%s for %s", words[0], listed(c.gangVictims(kind, w.Job(words[1]))), words[1])
	framework.CloseSession(c.Session)
}

// listed are numbers by name, each with a space in front.
func listed[N int | float64](all map[string]N) (text string) {
	for _, name := range sortedKeys(all) {
		text += fmt.Sprintf(" %s=%v", strings.ReplaceAll(name, " ", ":"), all[name])
	}
	return cmp.Or(text, " nothing")
}

// show writes facts about the world, such as the evicted pods.
func (r *sceneRun) show(t *testing.T, words []string) {
	shows := map[string]func(job *Job) string{
		"running": func(j *Job) string { return strconv.Itoa(j.Running()) },
		"phases":  func(j *Job) string { return string(j.Group.Status.Phase) },
		"cards":   r.cards,
	}
	for _, what := range words {
		switch {
		case shows[what] != nil:
			line := what
			for _, j := range r.w.Jobs {
				line += " " + j.Spec.Name + "=" + shows[what](j)
			}
			r.say("%s", line)
		case what == "evicted":
			evicted := slices.Sorted(slices.Values(r.w.Evicted))
			r.say("evicted %s", cmp.Or(strings.Join(evicted, " "), "nothing"))
		case what == "waiting":
			var waiting []string
			for _, j := range r.w.Jobs {
				waiting = append(waiting, slices.Sorted(slices.Values(j.Waiting))...)
			}
			r.say("waiting %s", cmp.Or(strings.Join(waiting, " "), "nothing"))
		case what == "total":
			sum := 0
			for _, j := range r.w.Jobs {
				for _, p := range j.Pods {
					if n := r.w.Nodes[p.Object.Spec.NodeName]; p.Placed() && n != nil && !n.Lost {
						sum++
					}
				}
			}
			r.say("total %d", sum)
		case what == "promises":
			r.say("promises%s", listed(testbed.Promises(r.last.own.Index, r.last.own.Intake, &r.last.own.Memory.Names, r.last.own.Memory.Admit.Reservations.Len())))
		case what == "charged":
			for queue, all := range r.last.allocated() {
				maps.DeleteFunc(all, func(name string, _ float64) bool { return !isCard(name) })
				if len(all) > 0 {
					r.out = append(r.out, "charged "+queue+listed(all))
				}
			}
			slices.Sort(r.out)
		case what == "evictions":
			r.say("evictions %d", len(r.w.Evicted))
		case what == "reasons":
			for _, j := range r.w.Jobs {
				if j.Reasons != "" {
					r.say("%s: %s", j.Spec.Name, j.Reasons)
				}
			}
		case what == "history":
			r.out = append(r.out, r.w.History...)
		default:
			require.Fail(t, "show: unknown: "+what)
		}
	}
}

// cards returns the models of the nodes on which the pods of a job run, and how many run there.
func (r *sceneRun) cards(j *Job) string {
	models := map[string]int{}
	for _, p := range j.Pods {
		if p.Placed() {
			model := "lost"
			if n := r.w.Nodes[p.Object.Spec.NodeName]; n != nil && !n.Lost {
				model = cmp.Or(n.Spec.Labels["nvidia.com/gpu.product"], sharedOf(n.Spec).model, "unknown")
			}
			models[model]++
		}
	}
	var all []string
	for _, model := range sortedKeys(models) {
		all = append(all, fmt.Sprintf("%s:%d", model, models[model]))
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ",")
}
