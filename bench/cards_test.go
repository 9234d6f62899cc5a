package bench

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// The hooks under the name capacity-card. Upstream has no cards, so ours is compared with none and the floor.

// newCards is capacity-card with cpu and memory unlimited where queues set no capability: only
// cards are short.
func newCards(framework.Arguments) framework.Plugin {
	return plugin.New(framework.Arguments{"cardUnlimitedCpuMemory": false})
}

// asks describes the jobs that request cards: pods that list some cards, in order. Their queue has
// promised so many jobs pods of the same lists, of these sizes in turn.
type asks struct {
	cards    int // in the list, 0 for a pod that names none
	promised int
	sizes    []int64
}

// vacate ends the pods on the nodes that give so many cards of the first model, and so many of the third one.
func vacate(c workload.Cluster, cards int) {
	left := map[string]bool{}
	for i, node := range c.Nodes {
		first, third := i%8 == 0, i%8 == 2
		left[node.Name] = (first || third) && i/8*8 < cards
	}
	for _, job := range c.Jobs {
		for t := range job.Tasks {
			if task := &job.Tasks[t]; left[task.Node] {
				task.Status, task.Node = workload.TaskSucceeded, ""
			}
		}
	}
}

// newCardContent makes a cluster of a shape with cards. It adds the jobs that request cards, and gives these roles to
// queues:
//
//   - lends has more of the first model than it deserves, and keeps has the cards that it deserves;
//   - full has all of the third model that its quota allows;
//   - wants has quotas of three models, and runs nothing.
func newCardContent(shape workload.Shape, a asks) (*content, error) {
	c := shape.MakeCards(1)
	models := []string{c.Nodes[0].Labels[workload.ProductLabel], c.Nodes[1].Labels[workload.ProductLabel], c.Nodes[2].Labels[workload.ProductLabel]}
	t := &content{plugin: plugin.Name, sessions: map[string]*framework.Session{}}
	leaves := c.Leaves()
	const many = 100000
	wants, lends, keeps, full := leaves[0], leaves[1], leaves[2], leaves[3]
	c.Jobs = slices.DeleteFunc(c.Jobs, func(j workload.Job) bool { return slices.Contains(leaves[:4], j.Queue) })
	pairs := shape.Nodes / 20
	quota := map[string]map[string]int{
		wants: {models[0]: many, models[1]: many, models[2]: many}, lends: {models[0]: many},
		keeps: {models[0]: 2 * pairs}, full: {models[2]: 4 * pairs},
	}
	for i := range c.Queues {
		q := &c.Queues[i]
		if own := quota[q.Name]; own != nil {
			q.Annotations = map[string]string{quotaKey: counts(own)}
		}
		if q.Name == lends {
			q.Annotations["volcano.sh/card.deserved"] = counts(map[string]int{models[0]: 50})
		}
		if q.Annotations[quotaKey] != "" { // cards are lent
			q.Annotations["volcano.sh/card.guarantee"] = number.ReplaceAllString(q.Annotations[quotaKey], ":0")
		}
	}
	held := make([]int, len(models))
	vacate(c, 4*pairs)
	hold := func(queue string, model int) workload.Job {
		j := workload.Job{Name: fmt.Sprintf("holds-%d-%d", model, held[model]), Queue: queue, Phase: workload.Running, MinMember: 1, MinResources: oneCPU}
		for i := range 2 {
			node := c.Nodes[model+held[model]/8*8] // eight to a node
			j.Tasks = append(j.Tasks, workload.Task{
				Name: fmt.Sprintf("%s-%d", j.Name, i), Request: cardRequest(1), Status: workload.TaskRunning,
				Node: node.Name, Annotations: map[string]string{cardNameKey: models[model]},
			})
			held[model]++
		}
		c.Jobs = append(c.Jobs, j)
		return j
	}
	for range pairs {
		t.reclaimees = append(t.reclaimees, hold(lends, 0), hold(keeps, 0))
	}
	for range 2 * pairs {
		t.neighbours = append(t.neighbours, hold(full, 2))
	}
	ask := func(name, queue string, phase workload.Phase, size int64, list ...string) workload.Job {
		j := workload.Job{Name: name, Queue: queue, Phase: phase, MinMember: 1, MinResources: oneCPU}
		for i := range 2 {
			task := workload.Task{Name: fmt.Sprintf("%s-%d", name, i), Request: cardRequest(size), Status: workload.TaskPending}
			if len(list) > 0 {
				task.Annotations = map[string]string{cardNameKey: strings.Join(list, "|")}
			}
			j.Tasks = append(j.Tasks, task)
		}
		c.Jobs = append(c.Jobs, j)
		return j
	}
	for i := range a.promised {
		ask(fmt.Sprintf("promised-%d", i), wants, workload.Inqueue, a.sizes[i%len(a.sizes)], models[:max(1, a.cards)]...)
	}
	t.waits = ask("waits", wants, workload.Pending, 1, models[:a.cards]...)
	t.plain = t.waits
	t.stuck = ask("stuck", full, workload.Pending, 1, models[2])
	var err error
	t.Cluster = c
	t.info, err = cluster.Build(c, "/bench")
	return t, err
}

const quotaKey = "volcano.sh/card.quota"

// number is a number of cards in a quota.
var number = regexp.MustCompile(`:\d+`)

var oneCPU = workload.Resources{"cpu": 1000, "memory": 1 << 30}

func cardRequest(n int64) workload.Resources {
	return workload.Resources{"cpu": 1000, "memory": 1 << 30, gpu: n}
}

// counts formats the annotation of quotas.
func counts(cards map[string]int) string {
	var entries []string
	for name, n := range cards {
		entries = append(entries, fmt.Sprintf("%q:%d", name, n))
	}
	slices.Sort(entries)
	return "{" + strings.Join(entries, ",") + "}"
}

// cardContents are the contents that were made, by shape and who asks: they take some seconds, and
// much memory.
var cardContents = map[string]*content{}

const mostCardContents = 3 // the contents of measureCards

func withCardsOf(b *testing.B, shape workload.Shape, a asks) *content {
	b.Helper()
	key := fmt.Sprint(shape.Name, a)
	if cardContents[key] == nil {
		if len(cardContents) == mostCardContents {
			clear(cardContents)
		}
		c, err := newCardContent(shape, a)
		if err != nil {
			b.Fatal(err)
		}
		cardContents[key] = c
	}
	return cardContents[key]
}

// measureCards measures an operation for pods that ask for one card, for either of three, and
// for none by name.
func measureCards(b *testing.B, prepare operation, compared func(*content) []implementation, requests ...string) {
	shapes := []workload.Shape{workload.L}
	if *full {
		shapes = append(shapes, workload.XL)
	}
	for _, shape := range shapes {
		for _, request := range requests {
			b.Run("shape="+shape.Name+"/request="+request, func(b *testing.B) {
				c := withCardsOf(b, shape, asks{cards: map[string]int{"one": 1, "list": 3}[request]})
				measure(b, c, prepare, compared(c)...)
			})
		}
	}
}

func BenchmarkAllocatableCards(b *testing.B) {
	measureCards(b, allocatable, (*content).comparedWithNone, "one", "list", "untyped")
}

func BenchmarkPreemptiveCards(b *testing.B) {
	measureCards(b, preemptive, (*content).comparedWithNone, "one", "list")
}

func BenchmarkPrePredicateCards(b *testing.B) {
	measureCards(b, prePredicate, (*content).comparedWithNone, "one")
}

func BenchmarkEventCards(b *testing.B) { measureCards(b, event, (*content).compared, "one") }

func BenchmarkSimulateCards(b *testing.B) { measureCards(b, simulate, (*content).compared, "one") }

// BenchmarkPredicateCards asks about one node.
func BenchmarkPredicateCards(b *testing.B) {
	measureCards(b, func(b *testing.B, s *bed) func() bool {
		task, node := s.openOnNode(b)
		return func() bool { return s.PredicateFn(task, node) == nil }
	}, (*content).comparedWithNone, "one", "list")
}

// BenchmarkNodeOrderCards scores one node.
func BenchmarkNodeOrderCards(b *testing.B) {
	measureCards(b, func(b *testing.B, s *bed) func() bool {
		task, node := s.openOnNode(b)
		return func() bool {
			score, err := s.NodeOrderFn(task, node)
			return err == nil && (score > 0 || s.name == none.name)
		}
	}, (*content).comparedWithNone, "one", "list")
}

// openOnNode opens the plugin and takes the snapshot of a task. It returns the task, and a node with the first card of
// the task's list.
func (s *bed) openOnNode(b *testing.B) (*api.TaskInfo, *api.NodeInfo) {
	s.open(b)
	task := s.task(s.waits, 0)
	if err := s.PrePredicateFn(task); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.drop(task) })
	return task, s.Session.Nodes[s.Cluster.Nodes[0].Name]
}

// BenchmarkReclaimableCards has the plugin choose victims.
func BenchmarkReclaimableCards(b *testing.B) {
	for _, candidates := range []int{100, 1000} {
		b.Run(fmt.Sprintf("candidates=%d", candidates), func(b *testing.B) { measureCards(b, reclaimable(candidates), (*content).compared, "one", "list") })
	}
}

// BenchmarkPreemptableCards has the plugin choose among tasks of the preemptor's job: between jobs, plans decide.
// Another plugin agrees to all of them.
func BenchmarkPreemptableCards(b *testing.B) {
	for _, candidates := range []int{100, 1000} {
		b.Run(fmt.Sprintf("candidates=%d", candidates), func(b *testing.B) {
			measureCards(b, func(b *testing.B, s *bed) func() bool {
				s.open(b)
				agree(b, s)
				preemptor := s.task(s.stuck, 0)
				from := s.tasks(s.neighbours, 2)
				if len(from) < candidates {
					b.Fatalf("%d candidates", len(from))
				}
				from = from[:candidates]
				for i, task := range from {
					from[i] = task.Clone()
					from[i].Job = preemptor.Job
				}
				return func() bool { return len(s.Preemptable(preemptor, from)) == candidates }
			}, (*content).compared, "one")
		})
	}
}

// agree adds another plugin to the tier of a session, which agrees to all victims.
func agree(b *testing.B, s *bed) {
	const other = "other"
	tiers := s.Tiers
	b.Cleanup(func() { s.Tiers = tiers })
	s.Tiers = offline.Tiers(s.Hierarchy, s.plugin, other)
	s.AddPreemptableFn(other, func(_ *api.TaskInfo, tasks []*api.TaskInfo) ([]*api.TaskInfo, int) { return tasks, util.Permit })
}

// BenchmarkJobEnqueueableCards checks a job that is admitted: with one card or a list of them,
// and where jobs of the same queue are admitted and have no pods yet.
func BenchmarkJobEnqueueableCards(b *testing.B) {
	measureCards(b, jobEnqueueable, (*content).comparedWithNone, "one", "list", "untyped")
	for _, a := range []asks{
		{cards: 1, promised: 1000, sizes: []int64{1}},
		{cards: 3, promised: 1000, sizes: []int64{1}},
		{cards: 3, promised: 300, sizes: []int64{1, 2, 4, 8}},
	} {
		b.Run(fmt.Sprintf("shape=L/cards=%d/promised=%d/sizes=%d", a.cards, a.promised, len(a.sizes)), func(b *testing.B) {
			c := withCardsOf(b, workload.L, a)
			measure(b, c, jobEnqueueable, implementation{none.name, bystanderOf(plugin.Name)}, implementation{"ours", newCards})
		})
	}
}
