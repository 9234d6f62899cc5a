package reserve

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
)

// Job holds the cards of one job: allocated, pending, and its minimum. Read fills it, and reuses its
// memory from one job to the next.
//
// The minimum of a job is the cards of its minMember unfinished pods with the smallest requests. While
// the job has no pods, card.request states it. Each selector counts like a dimension of its own:
// allocated cards of a selector count against the minimum of that selector, regardless of the card.
type Job struct {
	// Gates is set before Read.
	Gates Gates

	tasks    []*api.TaskInfo
	requests []*cards.PodRequest // by task
	nodes    []*cards.Node       // by task; nil for an unknown node

	groups      []group
	dims        []fastres.Dim // memory of dimsOf
	allocated   []groupAmount
	terminating []cards.Amount  // of pods that are being deleted, if they count
	pending     []cards.Amount  // of pending tasks, each for its preferred card
	lists       [][]fastres.Dim // of pending tasks with several cards to choose from

	// members are the pods of the minimum, the smallest first. Pods that are being deleted come last. It stays empty
	// if all unfinished pods are alike: the minimum is then minMembers times podSize.
	members    []member
	unfinished []member // all unfinished pods, in the same order
	minMembers int
	podSize    card.Milli

	// The cpu and memory of pods with cards, which are exempt from quotas under cardUnlimitedCpuMemory.
	exemptAllocated cpuMemory
	exemptPending   cpuMemory
	exemptGated     cpuMemory
	plain           cpuMemory // of unfinished pods without cards

	minResources v1.ResourceList // of a job without pods; nil: not stated

	hasCards bool
	sharing  []*api.TaskInfo // pods that share resource claims
	hasGates bool            // at least one pod has a scheduling gate
}

// group holds the cards of a job with one selector and one resource.
type group struct {
	sample                cards.Request // without an amount
	min, allocated, gated card.Milli
	stated                card.Milli // in card.request, of a job without pods
}

// cards returns the cards that satisfy the requests of the group.
func (g group) cards() []fastres.Dim { return g.sample.Selector.Dims }

// missing returns the part of the group's minimum that the job does not have yet.
func (g group) missing() card.Milli { return max(0, g.min-g.allocated) }

// request returns the missing part of the group's minimum as one request.
func (g group) request() cards.Request {
	return g.sample.Sum(g.missing())
}

// groupAmount is the amount of one card that a task of a group has.
type groupAmount struct {
	group int
	dim   fastres.Dim
	milli card.Milli
}

// member is an unfinished pod.
type member struct {
	task    *api.TaskInfo
	request *cards.PodRequest
	total   card.Milli // of all cards
	ends    int        // 1 for a pod that is being deleted, else 0
}

// HasCards reports whether the job has or requests cards.
func (j *Job) HasCards() bool { return j.hasCards }

// Placed reports whether pods of the job have cards on nodes. The cards of shared claims count.
func (j *Job) Placed() bool {
	placed := func(task *api.TaskInfo) bool { return task.NodeName != "" }
	return len(j.allocated)+len(j.terminating) > 0 || slices.ContainsFunc(j.sharing, placed)
}

// Sharing returns the tasks with pods that share resource claims, valid until the next Read.
func (j *Job) Sharing() []*api.TaskInfo { return j.sharing }

// Tasks returns the tasks of the job, valid until the next Read.
func (j *Job) Tasks() []*api.TaskInfo { return j.tasks }

// HasGates reports whether any pod of the job has a scheduling gate.
func (j *Job) HasGates() bool { return j.hasGates }

// Lists returns the lists of several cards of the job's pending pods. A list can occur more than once.
func (j *Job) Lists() [][]fastres.Dim { return j.lists }

// Selectors returns the number of parts of the job's minimum, one for each selector and resource.
func (j *Job) Selectors() int { return len(j.groups) }

// Missing returns the cards of a part of the minimum that the job does not have yet.
func (j *Job) Missing(part int) cards.Request { return j.groups[part].request() }

// Read reads a job. read is s.Read or a CollectingReader.
func (j *Job) Read(s *cards.Snapshot, job *api.JobInfo, read cards.PodReader) {
	j.reset()
	if len(job.Tasks) == 0 {
		j.readStated(s, job)
		return
	}

	j.fetch(s, job, read)
	unfinished, alike := j.readTasks(s)
	if !j.hasCards {
		return
	}

	if job.PodGroup != nil {
		j.minMembers = min(max(0, int(job.PodGroup.Spec.MinMember)), unfinished)
	}
	if alike && len(j.groups) == 1 {
		j.groups[0].min = card.Milli(j.minMembers) * j.podSize
		return
	}
	j.podSize = 0
	j.chooseMembers(s)
}

// reset empties j, and keeps its memory.
func (j *Job) reset() {
	*j = Job{
		Gates:       j.Gates,
		tasks:       j.tasks[:0],
		requests:    j.requests[:0],
		nodes:       j.nodes[:0],
		groups:      j.groups[:0],
		dims:        j.dims[:0],
		allocated:   j.allocated[:0],
		terminating: j.terminating[:0],
		pending:     j.pending[:0],
		lists:       j.lists[:0],
		unfinished:  j.unfinished[:0],
		sharing:     j.sharing[:0],
	}
}

// readStated reads a job without pods. Its annotation card.request states its cards.
func (j *Job) readStated(s *cards.Snapshot, job *api.JobInfo) {
	for _, r := range s.JobRequests(job) {
		j.groups[j.group(r)].stated += r.Amount
	}

	if job.PodGroup != nil && job.PodGroup.Spec.MinResources != nil {
		j.minResources = *job.PodGroup.Spec.MinResources
	}

	j.shareMinimum(s)
	j.hasCards = len(j.groups) > 0 || s.UnlimitedCPUMemory() && s.MinimumHasCards(job)
}

// fetch looks up the tasks of a job, their pods and their nodes. They are scattered in memory. One short
// loop for each lets the processor wait for several at once: BenchmarkSessionOpenCards takes 30 %
// longer with one loop for all.
func (j *Job) fetch(s *cards.Snapshot, job *api.JobInfo, read cards.PodReader) {
	for _, task := range job.Tasks {
		j.tasks = append(j.tasks, task)
	}

	for _, task := range j.tasks {
		j.hasGates = j.hasGates || j.Gates.Gated(task)
	}

	for _, task := range j.tasks {
		j.requests = append(j.requests, read(task))
	}

	for i, task := range j.tasks {
		var n *cards.Node
		if task.NodeName != "" && !j.requests[i].None() {
			n = s.Node(task.NodeName)
		}
		j.nodes = append(j.nodes, n)
	}
}

// readTasks reads the tasks that fetch has found. It returns the number of unfinished tasks, and whether
// they are alike: each has one request of podSize.
func (j *Job) readTasks(s *cards.Snapshot) (unfinished int, alike bool) {
	alike = true
	for i, task := range j.tasks {
		size, requests := j.readTask(s, task, j.requests[i], j.nodes[i])
		if finished(task) {
			continue
		}

		unfinished++
		if unfinished == 1 {
			j.podSize = size
		}
		alike = alike && requests == 1 && size == j.podSize
	}
	return unfinished, alike
}

func finished(task *api.TaskInfo) bool {
	return task.Status == api.Succeeded || task.Status == api.Failed
}

// readTask adds a task to the allocated and requested cards. It returns the number of cards that the
// task requests, and in how many requests.
func (j *Job) readTask(s *cards.Snapshot, task *api.TaskInfo, p *cards.PodRequest, n *cards.Node) (
	size card.Milli, requests int) {
	node := ""
	if api.AllocatedStatus(task.Status) || s.Occupied(task) {
		node = task.NodeName
	}

	for r := range s.RequestsOn(p, node) {
		requests++
		size += r.Amount
		j.addRequest(s, task, r, n)
	}

	withCards := requests > 0
	if p.HasClaims() {
		withCards = s.Uses(p) // regardless of the devices that its claims can get on its node
	}
	j.hasCards = j.hasCards || withCards

	if p.Shares() {
		j.sharing = append(j.sharing, task)
	}
	if s.UnlimitedCPUMemory() {
		j.addCPUMemory(task, withCards)
	}
	return size, requests
}

// addRequest adds a request of a task to its group, and to the cards that the task has on its node.
func (j *Job) addRequest(s *cards.Snapshot, task *api.TaskInfo, r cards.Request, n *cards.Node) {
	g := j.group(r)
	switch {
	case api.AllocatedStatus(task.Status):
		j.groups[g].allocated += r.Amount
		for d, amount := range r.On(n) {
			j.allocated = append(j.allocated, groupAmount{g, d, amount})
		}
	case s.Occupied(task):
		for d, amount := range r.On(n) {
			j.terminating = append(j.terminating, cards.Amount{Dim: d, Milli: amount})
		}
	case j.Gates.Gated(task):
		j.groups[g].gated += r.Amount
	}

	if task.Status == api.Pending && len(r.Selector.Dims) > 0 {
		j.addPending(r)
	}
}

// addPending adds a request of a pending task.
func (j *Job) addPending(r cards.Request) {
	dims := r.Selector.Dims
	j.pending = append(j.pending, cards.Amount{Dim: dims[0], Milli: r.Of(dims[0])})

	// Most tasks have the selector of the task before, which is cheap to recognize.
	n := len(j.lists)
	if len(dims) > 1 && (n == 0 || &j.lists[n-1][0] != &dims[0]) {
		j.lists = append(j.lists, dims)
	}
}

// group returns the position of the group of a request. A new group is added.
func (j *Job) group(r cards.Request) int {
	for i := range j.groups {
		if j.groups[i].sample.Alike(r) {
			return i
		}
	}

	j.groups = append(j.groups, group{sample: r.Sum(0)})
	return len(j.groups) - 1
}

// AddAllocated adds the cards of the job's allocated tasks to x.
func (j *Job) AddAllocated(s *cards.Snapshot, x fastres.Vector) {
	for _, a := range j.allocated {
		s.Add(x, a.dim, a.milli)
	}
}

// AddTerminating adds the cards of pods that are being deleted to x.
func (j *Job) AddTerminating(s *cards.Snapshot, x fastres.Vector) {
	for _, a := range j.terminating {
		s.Add(x, a.Dim, a.Milli)
	}
}

// AddPending adds the cards that the job's pending tasks prefer to x.
func (j *Job) AddPending(s *cards.Snapshot, x fastres.Vector) {
	for _, a := range j.pending {
		s.Add(x, a.Dim, a.Milli)
	}
}
