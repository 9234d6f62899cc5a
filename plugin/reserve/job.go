package reserve

import (
	"cmp"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// Job holds the cards of one job: allocated, pending, and its minimum. Read fills
// it, and reuses its memory from one job to the next.
//
// The minimum of a job is that of its minMember unfinished pods with the smallest
// requests, or what card.request states while the job has no pods. Each selector
// counts like a dimension of its own: allocated cards of a selector are held
// against the minimum of that selector, whichever card they are.
type Job struct {
	// Gates is set before Read.
	Gates Gates

	tasks    []*api.TaskInfo
	requests []*cards.PodRequest // by task
	nodes    []*cards.Node       // by task; nil for an unknown node

	groups    []group
	dims      []fastres.Dim // memory of dimsOf
	allocated []groupAmount
	// terminating are the cards of pods that are being deleted, where they count.
	terminating []cards.Amount
	pending     []cards.Amount // of pending tasks, each of its preferred card
	lists       [][]fastres.Dim
	// members are the pods of the minimum, the smallest first. Pods that are being deleted come last. They stay empty where
	// all unfinished pods are alike: then the minimum is minMembers times podSize.
	members    []member
	unfinished []member // all of them, in the same order
	minMembers int
	podSize    card.Milli

	// exempt is the cpu and memory of pods with cards, where they are exempt from
	// quotas (cardUnlimitedCpuMemory). plain is that of unfinished pods without.
	exemptAllocated, exemptPending, exemptGated, plain cpuMemory

	minResources v1.ResourceList // of a job without pods; nil: not stated

	hasCards bool
	sharing  []*api.TaskInfo // pods that share resource claims
	hasGates bool            // some pod has a scheduling gate
}

// group holds the cards of a job with one selector and one resource,
// cards.NoResource before there are pods.
type group struct {
	selector              *cards.Selector
	resource              cards.ResourceID
	min, allocated, gated card.Milli
	stated                card.Milli // in card.request, of a job without pods
}

// request is the missing part of the group's minimum as one request.
func (g group) request() cards.Request {
	return cards.Request{Selector: g.selector, Resource: g.resource, Amount: g.missing()}
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

type cpuMemory struct{ cpu, memory float64 }

func (a *cpuMemory) add(r *api.Resource) {
	a.cpu += max(0, r.MilliCPU)
	a.memory += max(0, r.Memory)
}

// subtractFrom subtracts from a sum that includes a.
func (a cpuMemory) subtractFrom(x fastres.Vector) {
	x.Set(fastres.CPU, max(0, x.Get(fastres.CPU)-a.cpu))
	x.Set(fastres.Memory, max(0, x.Get(fastres.Memory)-a.memory))
}

// HasCards reports whether the job has or requests cards.
func (j *Job) HasCards() bool { return j.hasCards }

// Placed reports whether pods of the job have cards on nodes, those of claims that they share with others included.
func (j *Job) Placed() bool {
	placed := func(task *api.TaskInfo) bool { return task.NodeName != "" }
	return len(j.allocated)+len(j.terminating) > 0 || slices.ContainsFunc(j.sharing, placed)
}

// Sharing returns the tasks whose pods share resource claims, valid until the next Read.
func (j *Job) Sharing() []*api.TaskInfo { return j.sharing }

// Tasks returns the tasks of the job, valid until the next Read.
func (j *Job) Tasks() []*api.TaskInfo { return j.tasks }

// HasGates reports whether some pod of the job has a scheduling gate.
func (j *Job) HasGates() bool { return j.hasGates }

// Lists are the lists of several cards of the job's pending pods, some more than once.
func (j *Job) Lists() [][]fastres.Dim { return j.lists }

// ExemptAllocated, ExemptPending and ExemptGated subtract the cpu and memory of
// the job's pods with cards from a sum over its allocated, pending or gated pods,
// where such pods are exempt.
func (j *Job) ExemptAllocated(x fastres.Vector) { j.exemptAllocated.subtractFrom(x) }
func (j *Job) ExemptPending(x fastres.Vector)   { j.exemptPending.subtractFrom(x) }
func (j *Job) ExemptGated(x fastres.Vector)     { j.exemptGated.subtractFrom(x) }

// Read reads a job. read is s.Read or a CollectingReader.
func (j *Job) Read(s *cards.Session, job *api.JobInfo, read cards.PodReader) {
	*j = Job{Gates: j.Gates, groups: j.groups[:0], dims: j.dims[:0], allocated: j.allocated[:0], terminating: j.terminating[:0],
		pending: j.pending[:0], lists: j.lists[:0], unfinished: j.unfinished[:0],
		sharing: j.sharing[:0], tasks: j.tasks[:0], requests: j.requests[:0], nodes: j.nodes[:0]}
	if len(job.Tasks) == 0 {
		for _, r := range s.JobRequests(job) {
			j.groups[j.group(r.Selector, r.Resource)].stated += r.Amount
		}
		if job.PodGroup != nil && job.PodGroup.Spec.MinResources != nil {
			j.minResources = *job.PodGroup.Spec.MinResources
		}
		j.shareMinimum(s)
		j.hasCards = len(j.groups) > 0 || s.UnlimitedCPUMemory() && s.MinimumHasCards(job)
		return
	}
	j.fetch(s, job, read)
	unfinished, alike := 0, true
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

// fetch looks up the tasks of a job, their pods and their nodes. They are spread
// over the memory. One short loop for each lets the processor wait for several at
// once: BenchmarkSessionOpenCards takes 30 % longer with one loop for all.
func (j *Job) fetch(s *cards.Session, job *api.JobInfo, read cards.PodReader) {
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

func finished(task *api.TaskInfo) bool {
	return task.Status == api.Succeeded || task.Status == api.Failed
}

// readTask adds a task to what the job has and requests. It returns the cards
// that the task requests, and in how many requests.
func (j *Job) readTask(s *cards.Session, task *api.TaskInfo, p *cards.PodRequest, n *cards.Node) (size card.Milli, requests int) {
	allocated, node := api.AllocatedStatus(task.Status), ""
	if allocated || s.Occupied(task) {
		node = task.NodeName
	}
	for r := range s.RequestsOn(p, node) {
		requests++
		size += r.Amount
		g := j.group(r.Selector, r.Resource)
		switch {
		case allocated:
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
			j.pending = append(j.pending, cards.Amount{Dim: r.Selector.Dims[0], Milli: r.Of(r.Selector.Dims[0])})
			if n := len(j.lists); len(r.Selector.Dims) > 1 && (n == 0 || &j.lists[n-1][0] != &r.Selector.Dims[0]) {
				j.lists = append(j.lists, r.Selector.Dims)
			}
		}
	}
	withCards := requests > 0
	if p.HasClaims() {
		withCards = s.Uses(p) // whatever its claims can get on its node
	}
	j.hasCards = j.hasCards || withCards
	if p.Shares() {
		j.sharing = append(j.sharing, task)
	}
	switch {
	case !s.UnlimitedCPUMemory():
	case !withCards && !finished(task):
		j.plain.add(task.Resreq)
	case !withCards:
	case allocated:
		j.exemptAllocated.add(task.Resreq)
	case task.Status == api.Pending:
		j.exemptPending.add(task.Resreq)
		if j.Gates.Gated(task) {
			j.exemptGated.add(task.Resreq)
		}
	}
	return size, requests
}

// group returns the position of a selector and a resource in groups.
func (j *Job) group(selector *cards.Selector, r cards.ResourceID) int {
	for i := range j.groups {
		if j.groups[i].selector == selector && j.groups[i].resource == r {
			return i
		}
	}
	j.groups = append(j.groups, group{selector: selector, resource: r})
	return len(j.groups) - 1
}

// chooseMembers lists the pods of the minimum and adds up their requests.
func (j *Job) chooseMembers(s *cards.Session) {
	staying := 0
	for i, task := range j.tasks {
		if finished(task) {
			continue
		}
		m := member{task: task, request: j.requests[i]}
		if task.Status == api.Releasing {
			m.ends = 1
		} else {
			staying++
		}
		for r := range s.Requests(m.request) {
			m.total += r.Amount
		}
		j.unfinished = append(j.unfinished, m)
	}
	slices.SortFunc(j.unfinished, func(x, y member) int {
		return cmp.Or(cmp.Compare(x.ends, y.ends), cmp.Compare(x.total, y.total),
			cmp.Compare(x.task.Name, y.task.Name), cmp.Compare(x.task.UID, y.task.UID))
	})

	// The job starts again with others than the pods that are being deleted.
	j.unfinished = j.unfinished[:max(staying, j.minMembers)]
	j.setMembers(s, j.unfinished[:j.minMembers])
}

// ExemptMinimum lowers cpu and memory of a job's minimum to those of its pods
// without cards, where pods with cards are exempt.
func (j *Job) ExemptMinimum(s *cards.Session, minimum fastres.Vector) {
	if !s.UnlimitedCPUMemory() || !j.hasCards {
		return
	}
	minimum.Set(fastres.CPU, min(minimum.Get(fastres.CPU), j.plain.cpu))
	minimum.Set(fastres.Memory, min(minimum.Get(fastres.Memory), j.plain.memory))
}

// AddAllocated adds the cards of the job's allocated tasks to x.
func (j *Job) AddAllocated(s *cards.Session, x fastres.Vector) {
	for _, a := range j.allocated {
		s.Add(x, a.dim, a.milli)
	}
}

// AddTerminating adds the cards that pods hold which are being deleted to x.
func (j *Job) AddTerminating(s *cards.Session, x fastres.Vector) {
	for _, a := range j.terminating {
		s.Add(x, a.Dim, a.Milli)
	}
}

// AddPending adds the cards that the job's pending tasks prefer to x.
func (j *Job) AddPending(s *cards.Session, x fastres.Vector) {
	for _, a := range j.pending {
		s.Add(x, a.Dim, a.Milli)
	}
}

// dimsOf returns the cards of a group's selector, the preferred first, and then those that
// its tasks have on nodes whose label changed, by name.
func (j *Job) dimsOf(s *cards.Session, group int) []fastres.Dim {
	j.dims = append(j.dims[:0], j.groups[group].selector.Dims...)
	listed := len(j.dims)
	for _, a := range j.allocated {
		if a.group == group && !slices.Contains(j.dims, a.dim) {
			j.dims = append(j.dims, a.dim)
		}
	}
	slices.SortFunc(j.dims[listed:], func(x, y fastres.Dim) int { return cmp.Compare(s.CardName(x), s.CardName(y)) })
	return j.dims
}

// AddElastic adds what the job has beyond its minimum to x:
//
//	max(0, allocated − min)
//
// of each selector. The minimum keeps the preferred cards.
func (j *Job) AddElastic(s *cards.Session, x fastres.Vector) {
	for i, g := range j.groups {
		if g.allocated <= g.min {
			continue
		}
		keep := g.min
		for _, d := range j.dimsOf(s, i) {
			var has card.Milli
			for _, a := range j.allocated {
				if a.group == i && a.dim == d {
					has += a.milli
				}
			}
			kept := min(keep, has)
			keep -= kept
			if has > kept {
				s.Add(x, d, has-kept)
			}
		}
	}
}

// missing is the part of a group's minimum that the job does not have yet.
func (g group) missing() card.Milli { return max(0, g.min-g.allocated) }

// Selectors returns how many parts the job's minimum has, one for each selector and resource, and Missing what the job
// does not have yet of one.
func (j *Job) Selectors() int { return len(j.groups) }

func (j *Job) Missing(part int) cards.Request { return j.groups[part].request() }

// AppendMissing appends the demands of the job's minimum that it does not have yet:
//
//	max(0, min − allocated)
//
// of each selector, pod by pod; card by card while the job has no pods. A remainder
// smaller than a pod is a demand of its own.
func (j *Job) AppendMissing(to []assign.Demand, s *cards.Session, q index.Queue) []assign.Demand {
	for _, g := range j.groups {
		to = j.appendGroup(to, s, q, g, g.missing(), func(*api.TaskInfo) bool { return false })
	}
	return to
}

// AppendReservation appends the demands of what the admitted job still waits for: those
// of AppendMissing, less the pods with scheduling gates.
func (j *Job) AppendReservation(to []assign.Demand, s *cards.Session, q index.Queue) []assign.Demand {
	for _, g := range j.groups {
		to = j.appendGroup(to, s, q, g, max(0, g.missing()-g.gated), j.Gates.Gated)
	}
	return to
}

// appendOthers appends the demands of AppendMissing, less those of one of the job's pods.
func (j *Job) appendOthers(to []assign.Demand, s *cards.Session, task *api.TaskInfo, p *cards.PodRequest) []assign.Demand {
	is := func(other *api.TaskInfo) bool { return other.UID == task.UID }
	counts := slices.ContainsFunc(j.members, func(m member) bool { return is(m.task) })
	for _, g := range j.groups {
		left := g.missing()
		for r := range s.Requests(p) {
			if counts && r.Selector == g.selector && r.Resource == g.resource {
				left -= min(left, r.Amount)
			}
		}
		to = j.appendGroup(to, s, 0, g, left, is)
	}
	return to
}

// appendGroup appends the demands of what is left of a group's minimum: the pods that
// have no node, but for those that skip leaves out, and the remainder.
func (j *Job) appendGroup(to []assign.Demand, s *cards.Session, q index.Queue, g group, left card.Milli,
	skip func(*api.TaskInfo) bool) []assign.Demand {
	for _, m := range j.members {
		if api.AllocatedStatus(m.task.Status) || skip(m.task) {
			continue
		}
		for r := range s.Requests(m.request) {
			if r.Selector == g.selector && r.Resource == g.resource && left > 0 {
				to = appendDemand(to, assign.Demand{Queue: q, Cards: r.Selector.Dims, Size: float64(min(left, r.Amount)), Count: 1})
				left -= min(left, r.Amount)
			}
		}
	}
	return j.appendAlike(to, q, g, left)
}

// appendAlike appends equal pods of amount in total, and the remainder. A job
// without pods does not state their size; then they take one card each.
func (j *Job) appendAlike(to []assign.Demand, q index.Queue, g group, amount card.Milli) []assign.Demand {
	size := cmp.Or(j.podSize, card.Cards(1))
	if len(j.members) > 0 {
		size = amount // the pods that it is for were larger than those that are allocated
	}
	count := card.Milli(math.Floor(float64(amount / max(size, 1))))
	to = appendDemand(to, assign.Demand{Queue: q, Cards: g.selector.Dims, Size: float64(size), Count: int(count)})
	if rest := amount - count*size; rest > 0 {
		to = appendDemand(to, assign.Demand{Queue: q, Cards: g.selector.Dims, Size: float64(rest), Count: 1})
	}
	return to
}

// appendDemand appends a demand, or adds it to the last one where that is of
// equal pods.
func appendDemand(to []assign.Demand, demand assign.Demand) []assign.Demand {
	if demand.Count == 0 {
		return to
	}
	if n := len(to) - 1; n >= 0 && to[n].Queue == demand.Queue && to[n].Size == demand.Size && slices.Equal(to[n].Cards, demand.Cards) {
		to[n].Count += demand.Count
		return to
	}
	return append(to, demand)
}
