package oracle_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// oracleSession is a session and an oracle of the same cluster.
type oracleSession struct {
	*testbed.Fixture
	t      *testing.T
	oracle *oracle.Oracle
	given  framework.Arguments

	holders *oracle.Holders
	cards   []string // nil where cards count nowhere
	fair    bool     // usage over time decides on the order of queues (TestOrderFollowsTheDocumentation)

	pending map[string][][]oracle.Amounts // by queue, the requests of pending tasks
	evicted map[api.TaskID]bool           // by events
}

// FuzzSession opens sessions of Volcano on clusters drawn from bytes, with cards and
// without. It compares accounts and answers with the oracle after each event. The fuzz
// targets of package fuzz do the same for the rules alone.
func FuzzSession(f *testing.F) {
	testbed.AddSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { compareSession(t, data) })
}

// compareSession opens a session that is drawn from bytes, and compares it with the oracle.
func compareSession(t *testing.T, data []byte) *oracleSession {
	r := workload.Bytes(data)
	s := testbed.NewScene()
	if s.Cluster = workload.Draw(r); r.IntN(2) == 0 {
		s.Cluster = workload.DrawCards(r)
	}
	s.Build = (&session.Builder{Variant: []arguments.Variant{session.BuilderOf(session.Name).Variant, session.BuilderOf(session.CapacityName).Variant}[r.IntN(2)], Now: func() time.Time { return fuzzed }}).Build
	s.Arguments = framework.Arguments{
		"untypedCards":    []string{"charge", "reject", "ignore"}[r.IntN(3)],
		"semantics":       release.Names()[r.IntN(3)],
		"unsetCapability": []string{"zero", "unlimited"}[r.IntN(2)],
		"deservedFrom":    []string{"spec", "weight"}[r.IntN(2)],

		"terminatingCards":       []string{"hold", "release"}[r.IntN(2)],
		"cardUnlimitedCpuMemory": r.IntN(3) == 0,
		"reclaimCompares":        compares(r.IntN(6)-2, r.IntN(4)),
		"victimOrder":            []string{"volcano", "leastWork"}[r.IntN(2)],
	}
	drawShares(workload.Bytes(append([]byte{2}, data...)), &s.Cluster)
	start(r, s.Jobs)
	checkpoint(workload.Bytes(append([]byte{1}, data...)), s.Jobs) // from other bytes, so that other draws stay as they are
	if r.IntN(3) == 0 {
		s.Arguments["reclaimByServiceType"] = true
		s.Arguments["podOwnerReferenceToServiceType"] = map[string]any{"ReplicaSet": "inference", "Job": "training"}
		classify(r, s.Jobs)
	}
	if r.IntN(3) > 0 {
		s.Arguments["rootCapability"] = []string{"total", "unlimited", "own"}[r.IntN(3)]
	}
	drawPolicies(r, &s.Cluster)
	displaces := r.IntN(3) == 0
	if displaces {
		for _, q := range s.Queues {
			s.Annotate(q.Name, policy.OrderKey, "displace")
		}
		for i := range s.Jobs {
			s.Jobs[i].Priority = int32(r.IntN(3))
		}
	}
	if r.IntN(2) == 0 {
		timeout := []string{"5m", "20m"}[r.IntN(2)]
		for _, q := range s.Queues {
			if q.Parent == "" && q.Annotations[policy.InqueueTimeoutKey] == "" {
				s.Annotate(q.Name, policy.InqueueTimeoutKey, timeout)
			}
		}
	}
	fair := len(data)%4 == 0 // usage over time changes the order of queues, and nothing else
	if fair {
		s.Arguments[arguments.FairShareHalfLife], s.Arguments[arguments.StateStore] = "1h", "none"
	}
	conf.EnabledActionMap = map[string]bool{"enqueue": true, "reclaim": len(data)%3 > 0}
	if len(data)%5 > 2 {
		s.Arguments[arguments.AdmitReclaimable] = len(data)%5 == 3
	}
	m := &oracleSession{Fixture: s.Open(t, drawPromises(r)), t: t, given: s.Arguments, evicted: map[api.TaskID]bool{}}
	m.configureOracle(s.Cluster)
	m.configureHolders(s.Cluster)
	m.compareBounds()
	m.compareAccounts()
	tasks := m.SortedTasks()
	first := m.oracle.Names()[0]
	m.fair = fair
	m.compareOrder(first, first) // the session reads its pending tasks with the first order, the oracle before all events
	for range 3 + r.IntN(20) {
		if len(tasks) > 0 && !displaces { // Volcano admits jobs before it places and evicts tasks
			node := m.Nodes[m.NodeList[r.IntN(len(m.NodeList))].Name]
			m.event(tasks[r.IntN(len(tasks))], node, r.IntN(2) == 0)
			m.compareTask(tasks[r.IntN(len(tasks))])
		}
		names := m.oracle.Names()
		m.compareOrder(names[r.IntN(len(names))], names[r.IntN(len(names))])
		m.compareAllocated()
		m.compareVictims(r, tasks)
		m.comparePreemptible(tasks)
	}
	m.compareJobs()
	return m
}

// compares returns a value of reclaimCompares: damped above 0 decides, and ancestors above 0 after that.
func compares(damped, ancestors int) string {
	switch {
	case damped > 0:
		return fmt.Sprint("damped=", damped)
	case ancestors > 0:
		return fmt.Sprint("ancestors=", ancestors)
	default:
		return "queue"
	}
}

// fuzzed is the time of the sessions of FuzzSession.
var fuzzed = time.Unix(3600, 0)

// start draws when tasks were created and began to run. Some times are not known, and some are in
// the future, by the clock of their node.
func start(r *rand.Rand, jobs []workload.Job) {
	for i := range jobs {
		for k := range jobs[i].Tasks {
			for _, at := range []*int64{&jobs[i].Tasks[k].Started, &jobs[i].Tasks[k].Created} {
				if seconds := int64(r.IntN(6)); seconds > 0 {
					*at = fuzzed.Unix() + 2 - seconds
				}
			}
		}
	}
}

// checkpoint draws times of checkpoints of jobs and their pods, some of them wrong or in the future.
func checkpoint(r *rand.Rand, jobs []workload.Job) {
	draw := func(annotations map[string]string) map[string]string {
		if r.IntN(4) > 0 {
			return annotations
		}
		annotations = maps.Clone(annotations)
		if annotations == nil {
			annotations = map[string]string{}
		}
		at := fuzzed.Add(time.Duration(2-r.IntN(7)) * time.Second)
		annotations[policy.CheckpointKey] = []string{at.UTC().Format(time.RFC3339), at.UTC().Format(time.RFC3339), at.UTC().Format("2006-01-02T15:04Z07:00"),
			at.In(time.FixedZone("", 3600)).Format(time.RFC3339), at.UTC().Format(time.DateTime), "now", ""}[r.IntN(7)]
		return annotations
	}
	for i := range jobs {
		jobs[i].Annotations = draw(jobs[i].Annotations)
		for k := range jobs[i].Tasks {
			jobs[i].Tasks[k].Annotations = draw(jobs[i].Tasks[k].Annotations)
		}
	}
}

// classify draws service classes of jobs.
func classify(r *rand.Rand, jobs []workload.Job) {
	for i := range jobs {
		annotations := maps.Clone(jobs[i].Annotations)
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[policy.ServiceTypeKey] = []string{"inference", "training", "training", "other", ""}[r.IntN(5)]
		jobs[i].Annotations = annotations
	}
}

// classOf returns the service class of a task, where classes count.
func (m *oracleSession) classOf(task *api.TaskInfo) string {
	stated := m.Jobs[task.Job].PodGroup.Annotations[policy.ServiceTypeKey]
	switch {
	case !m.Own.Settings.ByClass:
		return ""
	case stated == "inference" || stated == "training":
		return stated
	}
	for _, owner := range task.Pod.OwnerReferences {
		return map[string]string{"ReplicaSet": "inference", "Job": "training"}[owner.Kind]
	}
	return ""
}

// shares are the shares of cards that queues state in some clusters.
var shares = []string{"50%", "50%", "33.33%", "33.34%", "0%", "100%", "12.5%,min=1", "75%,max=3", "0.01%,min=2,max=2"}

// numberOfCards matches a number of cards in an annotation.
var numberOfCards = regexp.MustCompile(`:\d+([,}])`)

// drawShares replaces numbers of cards by shares in one of three clusters.
func drawShares(r *rand.Rand, c *workload.Cluster) {
	if r.IntN(3) > 0 {
		return
	}
	for i := range c.Queues {
		own := maps.Clone(c.Queues[i].Annotations)
		for _, key := range []string{card.QuotaKey, card.DeservedKey, card.GuaranteeKey} {
			if text, given := own[key]; given {
				own[key] = numberOfCards.ReplaceAllStringFunc(text, func(number string) string {
					if r.IntN(3) == 0 {
						return number
					}
					return `:"` + shares[r.IntN(len(shares))] + `"` + number[len(number)-1:]
				})
			}
		}
		c.Queues[i].Annotations = own
	}
}

// sharesOf returns the shares in an annotation of cards.
func sharesOf(text string) map[string]oracle.Share {
	var values map[string]any
	if json.Unmarshal([]byte(text), &values) != nil {
		return nil
	}
	all := map[string]oracle.Share{}
	for name, value := range values {
		text, _ := value.(string)
		percent, bounds, is := strings.Cut(text, "%")
		if !is {
			continue
		}
		s := oracle.Share{Max: oracle.Unlimited}
		s.Percent, _ = new(big.Rat).SetString(percent)
		for _, word := range strings.Split(bounds, ",") {
			key, number, _ := strings.Cut(word, "=")
			n, _ := strconv.ParseFloat(number, 64)
			switch key {
			case "min":
				s.Min = 1000 * n
			case "max":
				s.Max = 1000 * n
			}
		}
		all[cardKey(name)] = s
	}
	return all
}

// drawPolicies annotates the queues of some clusters with policies.
func drawPolicies(r *rand.Rand, c *workload.Cluster) {
	if r.IntN(2) == 0 {
		return
	}
	for i := range c.Queues {
		own := maps.Clone(c.Queues[i].Annotations)
		if own == nil {
			own = map[string]string{}
		}
		for _, key := range slices.Sorted(maps.Keys(oracle.CountTexts)) {
			if texts := oracle.CountTexts[key]; r.IntN(3) == 0 {
				own[key] = texts[r.IntN(len(texts))]
			}
		}
		if r.IntN(2) == 0 {
			own[card.HolderKey] = testbed.Limits[r.IntN(len(testbed.Limits))]
		}
		if r.IntN(3) == 0 {
			own[policy.InqueueTimeoutKey] = []string{"0s", "10m", "40m"}[r.IntN(3)]
		}
		if r.IntN(3) == 0 {
			own[policy.OvercommitFactorKey] = []string{"0.5", "1", "1.25", "3"}[r.IntN(4)]
		}
		if r.IntN(4) == 0 {
			own[policy.ReclaimFenceKey] = []string{"true", "true", "false"}[r.IntN(3)]
		}
		for key, texts := range map[string][]string{
			policy.MinRuntimeKey:   {"reclaim=0s", "reclaim=2s,preempt=4s", "preempt=2s", "preempt=0s, reclaim=4s"},
			policy.ReclaimDelayKey: {"0s", "2s", "4s"},
		} {
			if r.IntN(5) == 0 {
				own[key] = texts[r.IntN(len(texts))]
			}
		}
		c.Queues[i].Annotations = own
	}
}

// drawPromises gives some jobs the condition Inqueue, since a time of up to an hour ago, and
// puts all jobs into one of two namespaces.
func drawPromises(r *rand.Rand) func(*api.ClusterInfo, *offline.Cache) {
	return func(info *api.ClusterInfo, _ *offline.Cache) {
		for _, id := range slices.Sorted(maps.Keys(info.Jobs)) {
			job := info.Jobs[id]
			job.Namespace = []string{"x", "y"}[r.IntN(2)]
			drawHolders(r, job)
			kind := []string{"", "", "ReplicaSet", "Job", "Other"}[r.IntN(5)]
			for _, task := range job.Tasks {
				task.Namespace = job.Namespace
				if kind != "" {
					task.Pod.OwnerReferences = []metav1.OwnerReference{{Kind: kind}}
				}
			}
			switch since := time.Unix(int64(60*r.IntN(60)), 0); r.IntN(4) {
			case 0:
				reserve.BeginPromise(job, since)
			case 1:
				reserve.EndPromise(job, since, reserve.InqueueTimeout, "over")
			}
		}
	}
}

// overdue reports whether a job is Inqueue for too long without its minimum of tasks.
func (m *oracleSession) overdue(job *api.JobInfo) bool {
	placed, path := 0, []string{string(job.Queue)}
	for _, task := range job.Tasks {
		if api.AllocatedStatus(task.Status) {
			placed++
		}
	}
	if q := m.Own.Index.Lookup(string(job.Queue)); q != index.None {
		for _, p := range m.Own.Index.Path(q)[1:] {
			path = append(path, m.Own.Index.Name(p))
		}
	}
	var text string
	for _, name := range append(path, index.RootName) {
		if queue := m.Queues[api.QueueID(name)]; queue != nil {
			if own, set := queue.Queue.Annotations[policy.InqueueTimeoutKey]; set {
				text = own
				break
			}
		}
	}
	timeout, _ := time.ParseDuration(text)
	if timeout == 0 || placed >= int(job.PodGroup.Spec.MinMember) {
		return false
	}
	for _, c := range job.PodGroup.Status.Conditions {
		if c.Type == "Inqueue" {
			return c.Status == "False" || time.Unix(3600, 0).Sub(c.LastTransitionTime.Time) > timeout
		}
	}
	return false
}

// configureOracle makes an oracle of the cluster.
func (m *oracleSession) configureOracle(c workload.Cluster) {
	own := m.Own
	from := oracle.Cluster{Card: 1000, OpenRoot: own.Settings.Bounds.OpenRoot, ZeroLeaf: own.Settings.Bounds.UnsetCapability == intake.UnsetZero, ByWeight: own.Settings.Bounds.DeservedFrom == intake.DeservedFromWeight, Total: m.resource(m.TotalResource)}
	if c.Hierarchy {
		from.Root = index.RootName
	}
	if own.Cards != nil {
		for d := fastres.FirstFree; int(d) < own.Memory.Names.Len(); d++ {
			if own.Memory.Names.IsCard(d) {
				m.cards = append(m.cards, own.Memory.Names.Name(d))
			}
		}
		for _, node := range m.Nodes {
			for _, has := range card.Discover(node.Node.Labels, node.Node.Status.Allocatable, nil).Cards {
				if has.Milli > 0 {
					from.Total[cardKey(has.Name)] += float64(has.Milli)
				}
			}
		}
	}
	for _, name := range m.cards {
		from.Cards = append(from.Cards, cardKey(name))
	}
	if own.Cards != nil && own.Settings.Bounds.Scalars && (own.Settings.Bounds.RootCapability != intake.RootOwn || !c.Hierarchy) {
		for name := range from.Total {
			if own.Cards.GivesCards(v1.ResourceName(name)) {
				from.Resources = append(from.Resources, name)
			}
		}
	}
	from.Bound = oracle.Amounts{}.Plus(from.Total)
	change, ending := m.stockChange()
	for d := range change {
		from.Bound[d] += change[d]
	}
	from.Ending = ending
	from.Available = from.Bound.Plus(m.gone()) // before the root's bound is lifted
	for _, job := range m.Jobs {
		for _, task := range job.Tasks {
			if q := m.Own.Index.Lookup(string(job.Queue)); q != index.None && m.Own.Index.Broken(q) == nil && m.terminating(task) {
				from.Ending = from.Ending.Plus(m.strange(task))
			}
		}
	}
	for d, quantity := range m.gone() {
		if c.Hierarchy || slices.Contains(from.Cards, d) {
			from.Bound[d] += quantity
		}
	}
	if own.Settings.Bounds.RootCapability == intake.RootUnlimited {
		for d := range fastres.Dim(own.Memory.Names.Len()) {
			from.Bound[m.key(d)] = oracle.Unlimited
		}
		for _, job := range m.Jobs { // only a job may name a resource
			for d := range m.resource(job.GetMinResources()) {
				from.Bound[d] = oracle.Unlimited
			}
		}
	}
	if own.Settings.Bounds.RootCapability == intake.RootOwn && c.Hierarchy {
		from.Bound = m.ownBound(c)
	}
	if own.Settings.Bounds.RootCapability == intake.RootUnlimited {
		for d := range fastres.Dim(own.Memory.Names.Len()) {
			from.Available[m.key(d)] += 0
		}
	} else {
		maps.DeleteFunc(from.Available, func(d string, _ float64) bool { return !slices.Contains(from.Cards, d) })
	}
	for _, card := range from.Cards {
		from.Available[card] += 0
	}
	for _, q := range c.Queues {
		from.Queues = append(from.Queues, m.configured(q))
	}
	for _, job := range m.SortedJobs() {
		from.Jobs = append(from.Jobs, m.counted(job))
	}
	m.oracle = oracle.New(from)
	m.findPending()
}

// ownBound returns the capability that the root sets. Without one, the resources of the nodes have no bound.
func (m *oracleSession) ownBound(c workload.Cluster) oracle.Amounts {
	for _, q := range c.Queues {
		set := m.list(q.Capability)
		if q.Name == index.RootName && !set.Empty() {
			return set
		}
	}
	bound := oracle.Amounts{oracle.CPU: oracle.Unlimited, oracle.Memory: oracle.Unlimited}
	for d := range m.resource(m.TotalResource) {
		bound[d] = oracle.Unlimited
	}
	return bound
}

// stockChange returns by how much the cards that queues can have differ from the cards that the nodes give. Queues can
// have max(gives − outside, held) of each node. ending is the part that is gone once terminating pods are gone.
func (m *oracleSession) stockChange() (change, ending oracle.Amounts) {
	change, ending = oracle.Amounts{}, oracle.Amounts{}
	if m.Own.Cards == nil {
		return change, ending
	}
	for _, node := range m.Nodes {
		for _, has := range card.Discover(node.Node.Labels, node.Node.Status.Allocatable, nil).Cards {
			gives, outside, held, outsideThen, heldThen := float64(has.Milli), 0.0, 0.0, 0.0, 0.0
			for _, onNode := range node.Tasks {
				task, charged := onNode, false
				if job := m.Jobs[onNode.Job]; job != nil && job.Tasks[onNode.UID] != nil {
					task = job.Tasks[onNode.UID]
					q := m.Own.Index.Lookup(string(job.Queue))
					for p := range m.cardRequests(task) {
						if q == index.None || m.Own.Index.Broken(q) != nil || m.Own.Cards.ResourceName(p.Resource) != string(has.Resource) {
							continue
						}
						charged = true
						if api.AllocatedStatus(task.Status) || m.terminating(task) && !m.evicted[task.UID] {
							held += float64(p.Amount)
						}
						if api.AllocatedStatus(task.Status) {
							heldThen += float64(p.Amount)
						}
					}
				}
				if !charged && (api.AllocatedStatus(task.Status) || task.Status == api.Releasing) {
					outside += task.Resreq.ScalarResources[has.Resource]
				}
				if !charged && api.AllocatedStatus(task.Status) {
					outsideThen += task.Resreq.ScalarResources[has.Resource]
				}
			}
			change[cardKey(has.Name)] += max(gives-outside, held, 0) - gives
			ending[cardKey(has.Name)] += max(gives-outside, held, 0) - max(gives-outsideThen, heldThen, 0)
		}
	}
	return change, ending
}

// gone returns the charges for pods on unknown nodes, and for cards that their nodes do not have. It counts queues that
// reach the root.
func (m *oracleSession) gone() oracle.Amounts {
	gone := oracle.Amounts{}
	for _, job := range m.Jobs {
		q := m.Own.Index.Lookup(string(job.Queue))
		for _, task := range job.Tasks {
			switch {
			case q == index.None || m.Own.Index.Broken(q) != nil:
			case m.Nodes[task.NodeName] == nil && api.AllocatedStatus(task.Status):
				gone = gone.Plus(m.request(task, true))
			case api.AllocatedStatus(task.Status) || m.terminating(task):
				gone = gone.Plus(m.strange(task))
			}
		}
	}
	return gone
}

// strange returns the cards of a task that its node does not have, through the resources that the
// task requests.
func (m *oracleSession) strange(task *api.TaskInfo) oracle.Amounts {
	strange := oracle.Amounts{}
	for p := range m.cardRequests(task) {
		name, has := m.CardFor(task, p), false
		if node := m.Nodes[task.NodeName]; node != nil {
			has = slices.ContainsFunc(card.Discover(node.Node.Labels, node.Node.Status.Allocatable, nil).Cards, func(c card.Card) bool {
				return c.Name == name && string(c.Resource) == m.Own.Cards.ResourceName(p.Resource)
			})
		}
		if name != "" && !has {
			strange[cardKey(name)] += float64(p.Amount)
		}
	}
	return strange
}

// carded reports whether some job states cards, in a session where cards count.
func (m *oracleSession) carded() bool {
	switch {
	case m.Own.Cards == nil:
		return false
	case m.cards != nil:
		return true
	}
	for _, job := range m.Jobs {
		for _, task := range job.Tasks {
			if task.Pod.Annotations[card.NameKey] != "" {
				return true
			}
			for range m.cardRequests(task) {
				return true // of a resource of a vendor
			}
		}
		if job.PodGroup.Annotations[card.RequestKey] != "" || m.Own.Cards.MinimumHasCards(job) {
			return true
		}
	}
	return false
}

// cardKey returns the oracle's dimension of a card, which may share its name with a
// resource.
func cardKey(name string) string { return "card " + name }

func (m *oracleSession) key(d fastres.Dim) string {
	if m.Own.Memory.Names.IsCard(d) {
		return cardKey(m.Own.Memory.Names.Name(d))
	}
	return m.Own.Memory.Names.Name(d)
}

// resource returns the counted dimensions of a resource.
func (m *oracleSession) resource(r *api.Resource) oracle.Amounts {
	a := oracle.Amounts{oracle.CPU: r.MilliCPU, oracle.Memory: r.Memory}
	for name, quantity := range r.ScalarResources {
		if m.Own.Variant.Scalars {
			a[string(name)] = quantity
		}
	}
	return a
}

// list returns the counted dimensions of a resource list.
func (m *oracleSession) list(r workload.Resources) oracle.Amounts {
	if r == nil {
		return nil
	}
	a := oracle.Amounts{}
	for name, amount := range r {
		switch {
		case name == oracle.CPU || name == oracle.Memory:
			a[name] = float64(amount)
		case !m.Own.Variant.Scalars:
		case name == oracle.Pods:
			a[name] = float64(amount)
		default:
			a[name] = float64(amount) * 1000
		}
	}
	return a
}

func (m *oracleSession) configured(q workload.Queue) oracle.Queue {
	from := oracle.Queue{Name: q.Name, Parent: q.Parent, Closed: q.Closed,
		Capability: m.list(q.Capability), Deserved: m.list(q.Deserved), Guarantee: m.list(q.Guarantee), Weight: float64(q.Weight)}
	factor, _ := strconv.ParseFloat(q.Annotations[policy.OvercommitFactorKey], 64)
	from.Overcommit = 1000 * factor
	from.Fence = q.Annotations[policy.ReclaimFenceKey] == "true"
	times := map[string]**float64{"": &from.Times.ReclaimDelay, "reclaim": &from.Times.MinRuntime, "preempt": &from.Times.PreemptMinRuntime}
	for _, text := range append(strings.Split(q.Annotations[policy.MinRuntimeKey], ","), "="+q.Annotations[policy.ReclaimDelayKey]) {
		word, value, _ := strings.Cut(strings.TrimSpace(text), "=")
		to := times[word]
		if d, err := time.ParseDuration(value); err == nil {
			seconds := d.Seconds()
			*to = &seconds
		}
	}
	from.Counts = oracle.CountsOf(q.Annotations)
	if len(q.Capability) > 0 && len(from.Capability) == 0 {
		from.Capability = oracle.Amounts{oracle.CPU: 0} // the capability is set, but no dimension of it counts
	}
	if m.Own.Cards == nil {
		return from
	}
	from.CardsCount, from.CardsClosed = m.Own.Cards.Counted(m.Own.Index.Lookup(q.Name)), m.Own.Cards.Closed(m.Own.Index.Lookup(q.Name))
	for key, to := range map[string]*oracle.Amounts{
		card.QuotaKey: &from.CardQuota, card.DeservedKey: &from.CardDeserved, card.GuaranteeKey: &from.CardGuarantee,
	} {
		*to = oracle.Amounts{}
		if _, given := q.Annotations[key]; given {
			entries, _ := card.ParseQuota(q.Annotations[key])
			for _, e := range entries {
				(*to)[cardKey(e.Name)] = float64(e.Cards) * 1000
			}
		}
	}
	from.Shares = oracle.CardShares{Quota: sharesOf(q.Annotations[card.QuotaKey]), Deserved: sharesOf(q.Annotations[card.DeservedKey]),
		Guarantee: sharesOf(q.Annotations[card.GuaranteeKey])}
	return from
}

// counted returns a job as it is at session open.
func (m *oracleSession) counted(job *api.JobInfo) oracle.Job {
	j := oracle.Job{Queue: string(job.Queue), MinMember: int(job.MinAvailable),
		Inqueue: job.PodGroup.Status.Phase == scheduling.PodGroupInqueue, Running: job.PodGroup.Status.Phase == scheduling.PodGroupRunning,
		Unknown: job.PodGroup.Status.Phase == scheduling.PodGroupUnknown, Overdue: m.overdue(job)}
	if job.PodGroup.Spec.MinResources != nil {
		j.Min = m.resource(job.GetMinResources())
	}
	for _, task := range job.Tasks {
		placed := api.AllocatedStatus(task.Status)
		request := m.request(task, placed)
		for p := range m.cardRequests(task) { // a pending pod counts as a request for its preferred card
			if task.Status == api.Pending && len(p.Selector.Dims) > 0 {
				request[m.key(p.Selector.Dims[0])] += float64(p.Amount)
			}
		}
		terminating := m.terminating(task)
		if terminating {
			request = m.cardsHeld(task)
		}
		j.Tasks = append(j.Tasks, oracle.Task{Request: request, Placed: placed,
			Pending: task.Status == api.Pending, Gated: task.SchGated, Terminating: terminating})
	}
	return j
}

// terminating reports whether a task that is being deleted counts for its cards.
func (m *oracleSession) terminating(task *api.TaskInfo) bool {
	return task.Status == api.Releasing && m.Own.Settings.Cards.Terminating == cards.TerminatingHold
}

func (m *oracleSession) cardsHeld(task *api.TaskInfo) oracle.Amounts {
	held := oracle.Amounts{}
	for p := range m.cardRequests(task) {
		if name := m.CardFor(task, p); name != "" {
			held[cardKey(name)] += float64(p.Amount)
		}
	}
	return held
}

// request returns the request of a task, with its cards where it is placed.
func (m *oracleSession) request(task *api.TaskInfo, placed bool) oracle.Amounts {
	a := m.resource(task.Resreq)
	for p := range m.cardRequests(task) {
		if m.Own.Settings.Cards.UnlimitedCPUMemory {
			a[oracle.CPU], a[oracle.Memory] = 0, 0
		}
		if name := m.CardFor(task, p); placed && name != "" {
			a[cardKey(name)] += float64(p.Amount)
		}
	}
	return a
}

// cardRequests returns the cards that a task requests, where cards count.
func (m *oracleSession) cardRequests(task *api.TaskInfo) iter.Seq[cards.Request] {
	q := m.Own.Index.Lookup(m.queueOf(task))
	if m.Own.Cards == nil || q == index.None {
		return func(func(cards.Request) bool) {}
	}
	return m.Own.Cards.Requests(m.Own.Cards.PodRequest(q, task.Pod))
}

func (m *oracleSession) queueOf(task *api.TaskInfo) string { return string(m.Jobs[task.Job].Queue) }

// exact bounds the whole numbers that float64 holds exactly. Beyond it a sum depends
// on the order of its terms.
const exact = 1 << 53

// same compares an account with the account of the oracle.
func (m *oracleSession) same(want oracle.Amounts, got fastres.Vector, cards bool, what ...any) {
	for d := range fastres.Dim(m.Own.Memory.Names.Len()) {
		if m.Own.Memory.Names.IsCard(d) && !cards {
			continue
		}
		x, y := want[m.key(d)], got.Get(d)
		if x != y && !(min(x, y) > exact && testbed.Near(x, y)) {
			m.t.Fatalf("%s: %s is %v by the oracle, %v here", fmt.Sprint(what...), m.key(d), x, y)
		}
	}
}

func (m *oracleSession) compareBounds() {
	for _, name := range m.oracle.Names() {
		q := m.Own.Index.Lookup(name)
		require.Equal(m.t, m.oracle.Broken(name), m.Own.Index.Broken(q) != nil, name)
		m.same(m.oracle.Bound(name), m.Own.Index.RealCapability.Row(q), true, "realCapability of ", name)
		m.same(m.oracle.Deserved(name), m.Own.Index.Deserved.Row(q), true, "deserved of ", name)
		m.same(m.oracle.Guarantee(name), m.Own.Index.Guarantee.Row(q), true, "guarantee of ", name)
	}
}

// compareAccounts leaves out inqueue and elastic of jobs with cards. The tests of
// cards compare them with literal values.
func (m *oracleSession) compareAccounts() {
	for _, name := range m.oracle.Names() {
		q := m.Own.Index.Lookup(name)
		m.same(m.oracle.Request(name), m.Own.Index.Request.Row(q), true, "request of ", name)
		if m.carded() && m.Own.Settings.Cards.UnlimitedCPUMemory {
			continue
		}
		m.same(m.oracle.Inqueue(name), m.Own.Index.Inqueue.Row(q), false, "inqueue of ", name)
		m.same(m.oracle.Elastic(name), m.Own.Index.Elastic.Row(q), false, "elastic of ", name)
	}
	m.compareAllocated()
}

func (m *oracleSession) compareAllocated() {
	for _, name := range m.oracle.Names() {
		q := m.Own.Index.Lookup(name)
		m.same(m.oracle.Allocated(name), m.Own.Index.Allocated(q), true, "allocated of ", name)
		require.Equal(m.t, m.oracle.Share(name), m.Own.Index.Share(q), "share of %s", name)
	}
	m.compareHolders()
}

// holdersOf returns the holders for which the job of a task counts.
func (m *oracleSession) holdersOf(task *api.TaskInfo) []oracle.Holder {
	return testbed.HoldersOf(m.Jobs[task.Job])
}

// event allocates a pending task, without any check except for cards, or evicts a running task. A gated task is never
// allocated.
func (m *oracleSession) event(task *api.TaskInfo, node *api.NodeInfo, allocate bool) {
	statement := framework.NewStatement(m.Session)
	known := m.Own.Index.Lookup(m.queueOf(task)) != index.None
	before, _ := m.stockChange()
	defer func() { // cards that pods hold and their node does not give exist as long as pods hold them
		after, _ := m.stockChange()
		for d := range after {
			m.oracle.Has(oracle.Amounts{d: after[d] - before[d]}, 1)
		}
	}()
	switch task.Status {
	case api.Running:
		gone, strange := m.request(task, true), m.strange(task)
		require.NoError(m.t, release.Evict(statement, task, "test"))
		m.evicted[task.UID] = true // its queue gets the charge back at once
		if known {
			m.oracle.Refund(m.queueOf(task), gone)
			m.oracle.Has(strange, -1)
			negative := oracle.Amounts{}
			for d, quantity := range gone {
				negative[d] = -quantity
			}
			m.holders.Add(oracle.HolderJob{Queue: m.queueOf(task), Holders: m.holdersOf(task), Allocated: negative})
		}
	case api.Pending:
		if task.SchGated {
			return
		}
		place := func() error { return release.Pipeline(statement, task, node.Name, false) }
		if allocate {
			place = func() error { return release.Allocate(statement, task, node) }
		}
		if place() == nil && known {
			m.oracle.Charge(m.queueOf(task), m.request(task, true))
			m.oracle.Has(m.strange(task), 1)
			m.holders.Add(oracle.HolderJob{Queue: m.queueOf(task), Holders: m.holdersOf(task), Allocated: m.request(task, true)})
		}
	}
}

// compareTask compares Allocatable and Preemptive for a task.
func (m *oracleSession) compareTask(task *api.TaskInfo) {
	name := m.queueOf(task)
	queue := m.Queues[api.QueueID(name)]
	if queue == nil || ended(task) {
		return
	}
	open := m.oracle.Eligible(name) == "" && queue.Queue.Status.State == scheduling.QueueStateOpen
	q, request := m.Own.Index.Lookup(name), m.request(task, false)
	fits, preempts, carded := true, true, false
	for p := range m.cardRequests(task) {
		allowed := m.Own.Cards.Allowed(q, p).OK()
		some := func(rule func(card string) string) bool {
			return allowed && slices.ContainsFunc(p.Selector.Dims, func(d fastres.Dim) bool { return rule(m.key(d)) == "" })
		}
		carded = true
		fits = fits && some(func(card string) string {
			one := oracle.Amounts{card: float64(p.Amount)}
			refusal := m.holders.Fits(name, m.holdersOf(task), one).Queue + m.oracle.CardFits(name, card, float64(p.Amount))
			if !m.oracle.LendsAll(name, one) {
				refusal += "guaranteed to others"
			}
			return refusal
		})
		preempts = preempts && some(func(card string) string {
			if !m.holders.FitsOwn(name, m.holdersOf(task), oracle.Amounts{card: float64(p.Amount)}) {
				return "over the limit of a holder"
			}
			return m.oracle.PreemptiveCard(name, card, float64(p.Amount), m.Own.Settings.Levels)
		})
	}
	fits = fits && m.holders.Fits(name, m.holdersOf(task), request).Queue == ""
	require.Equal(m.t, open && fits && m.oracle.Allocatable(name, request) == "" && m.oracle.LendsAll(name, request), m.Own.AllocatableOf(queue, task),
		"allocatable: %v in %s", request, name)
	verdict := m.oracle.Preemptive(name, request, m.Own.Settings.Levels)
	preempts = preempts && verdict != "over quota" && (carded || verdict == "")
	preempts = preempts && m.mayTake(task) && m.holders.FitsOwn(name, m.holdersOf(task), request)
	require.Equal(m.t, open && preempts, m.Own.Preemptive(queue, []*api.TaskInfo{task}), "preemptive: %v in %s", request, name)
}

// ended reports whether a task neither is pending nor has a node. No account has the resources
// that only such tasks name.
func ended(task *api.TaskInfo) bool {
	return task.Status != api.Pending && !api.AllocatedStatus(task.Status)
}

func (m *oracleSession) compareOrder(l, r string) {
	lq, rq := m.Queues[api.QueueID(l)], m.Queues[api.QueueID(r)]
	if lq != nil && rq != nil {
		want := 0
		if m.Own.Settings.Damping > 0 {
			want = m.oracle.OrderByReclaim(m.pending, l, r, m.Own.Settings.Damping)
		}
		if want == 0 {
			want = int(rq.Queue.Spec.Priority) - int(lq.Queue.Spec.Priority)
		}
		if want == 0 {
			want = m.oracle.Order(l, r)
		}
		if got := m.Own.CompareQueues(lq, rq); !m.fair {
			require.Equal(m.t, want, got, "order of %s, %s", l, r)
		}
	}
}

// compareJobs enqueues jobs as the oracle does. The tests of cards compare jobs with
// cards.
func (m *oracleSession) compareJobs() {
	if m.carded() {
		return
	}
	for _, job := range m.SortedJobs() {
		name := string(job.Queue)
		queue := m.Queues[job.Queue]
		min, placed, gated := m.reservation(job)
		takes := m.oracle.Eligible(name) == "" && queue != nil && queue.Queue.Status.State == scheduling.QueueStateOpen
		want := takes && m.admits(m.oracle, m.holders, job)
		var losers []*api.JobInfo
		if takes && !want {
			losers = m.inPlaceOf(job)
			want = len(losers) > 0
		}
		require.Equal(m.t, want, m.Own.Admit.JobEnqueueable(job) == util.Permit, "enqueueable: %v in %s", min, name)
		m.compareRefusal(job, takes)
		if !want {
			continue
		}
		inqueue := m.inqueueJobs()
		m.displace(losers)
		m.Own.Admit.JobEnqueued(job)
		m.compareDisplaced(inqueue, losers)
		m.oracle.AdmitJob(name)
		if job.PodGroup.Spec.MinResources == nil {
			continue
		}
		m.holders.Promise(name, testbed.HoldersOf(job), min.Minus(placed).Minus(gated))
		m.compareHolders()
		for _, name := range m.oracle.Names() {
			m.same(m.oracle.Inqueue(name), m.Own.Index.Inqueue.Row(m.Own.Index.Lookup(name)), false, "inqueue of ", name)
		}
	}
}
