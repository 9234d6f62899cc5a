package chaos

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// chaos is a world, and the facts about its past that invariants use.
type chaos struct {
	*World
	cycles  int              // with deeds
	builder *session.Builder // the scheduler's: a restart replaces it
	tiers   []conf.Tier      // of the session before
	seen    map[string]int
	claims  []claimed
	marks   []mark
	filled  map[string]int // the cycle in which a node last got a pod
	loses   map[string]int // the cycle in which a queue last lost pods to reclaim
	// borrowsFirst is the last cycle in which a queue that lost pods deserved another one.
	borrowsFirst int
	has          map[*Pod]map[string]namedCard // since a pod has a node, by resource
	had          map[*Pod]map[string]namedCard // before the scheduler restarted, nil after the next session
	read         map[*Queue]*annotations
	claimed      map[string]*claimedCards // resource claims, by namespace and name; nil when the scheduler starts
	promiseTimes map[*Job]*promiseTime
	use          usedHours
	// orphaned: a session was without the job, because its queue did not exist.
	orphaned   map[*Job]bool
	returns    bool                         // the configuration was without the plugin in the cycle before
	left       bool                         // the configuration was without the plugin once
	met        map[*Job]*api.PodGroup       // as the scheduler has last seen it since it started
	losses     []loss                       // evictions that count for budgets
	told       map[api.TaskID]told          // notices of pods
	toldAt     time.Time                    // when they were noted
	graces     map[api.TaskID]time.Duration // of all pods then
	above      map[string]above             // by queue and dimension, since the scheduler started
	doubtAbove bool
	// lossesBefore is how many counted in the last session, and lossLengths for how long, by key and queue.
	lossesBefore map[string]int
	lossLengths  map[string]time.Duration
	below        map[string][]string // memory of children, nil before the first call in a cycle
}

// annotations has the annotations of a queue, as the scheduler knows them.
type annotations struct {
	// good are the last valid values of the card annotations: by key, nil for an annotation
	// that is not there.
	good map[string]map[string]int64
	// shares are the values of good that follow from the cards of the nodes, see resolveShares.
	shares map[string]map[string]modelShare
	bad    bool // a value of an annotation is bad
	// policies are the last valid texts of policy annotations, by key.
	policies map[string]string
	// windows are the last valid overrides, and texts the annotations that hold.
	windows []modelWindow
	texts   map[string]string
}

// namedCard is the card that a pod has of a resource.
type namedCard struct {
	card string // "" for a resource that nothing names
	// sure: a node named it while the cards of the pod counted, so the scheduler
	// remembers it.
	sure bool
	// doubt: the scheduler may have seen another name before.
	doubt bool
	milli float64 // how much of it, in thousandths
}

func newChaos(c Config) *chaos {
	w := &chaos{World: New(c), seen: map[string]int{}, filled: map[string]int{}, loses: map[string]int{},
		promiseTimes: map[*Job]*promiseTime{}, orphaned: map[*Job]bool{}}
	w.OnRestart, w.OnPlaced, w.OnClaimed, w.OnFollow = w.start, w.notePlaced, w.noteClaimed, w.noteMarks
	w.start()
	return w
}

// start restarts the scheduler.
func (w *chaos) start() {
	if len(w.has) > 0 { // and not at a second restart before a session
		w.had = w.has
	}
	w.has = map[*Pod]map[string]namedCard{}
	w.read = map[*Queue]*annotations{}
	w.met, w.claimed = map[*Job]*api.PodGroup{}, nil
	w.above, w.doubtAbove, w.told = nil, false, map[api.TaskID]told{}
	w.losses, w.lossesBefore, w.lossLengths = nil, map[string]int{}, map[string]time.Duration{}
	for _, v := range []arguments.Variant{session.BuilderOf(session.Name).Variant, session.BuilderOf(session.CapacityName).Variant, session.BuilderOf(session.ProportionName).Variant} {
		if v.Name == w.Plugin {
			w.builder = &session.Builder{Variant: v, Now: w.Clock}
		}
	}
}

func (w *chaos) notePlaced(j *Job, p *Pod, node string) {
	w.seen["pods placed"]++
	w.filled[node] = w.Cycle
	if w.Away == 0 {
		w.noteClaims(j, p, node)
		w.hold(p, node, w.counted(j.Spec.Queue))
	} else {
		w.doubtMissingClaims(j, p)
	}
	w.noteClaimServed(j, p, node)
	w.doubt(w.marks, j, p, node)
}

func (w *chaos) noteClaimed(_ *Job, p *Pod, node string) {
	w.claims = append(w.claims, claimed{w.Cycle, p, node})
}

// noteClaimServed has a pod that got a node stand for an equal one of its job that others were evicted for, whoever the
// users of the two are: Volcano takes the pods of a role for one another. Another one stands for it on its node, where
// the job lacks its minimum: the job starts.
func (w *chaos) noteClaimServed(j *Job, p *Pod, node string) {
	if slices.ContainsFunc(w.claims, func(c claimed) bool { return c.pod == p }) {
		return
	}
	others := 0
	for _, other := range j.Pods {
		if other != p && other.Placed() {
			others++
		}
	}
	for i, c := range w.claims {
		stands := reflect.DeepEqual(c.pod.Spec, p.Spec) || w.standsFor(mark{job: j, pod: c.pod, node: c.node}, j, p, node) || c.node == node && others < j.Spec.MinMember
		if c.pod.Object.Spec.NodeName == "" && slices.Contains(j.Pods, c.pod) && stands {
			w.claims[i].pod = p
			return
		}
	}
}

// readOf returns the annotations of a queue, as the scheduler knows them.
func (w *chaos) readOf(q *Queue) *annotations {
	if w.read[q] == nil {
		w.read[q] = &annotations{good: map[string]map[string]int64{}, shares: map[string]map[string]modelShare{}}
	}
	return w.read[q]
}

// promise returns the record of the promise to a job.
func (w *chaos) promise(j *Job) *promiseTime {
	if w.promiseTimes[j] == nil {
		w.promiseTimes[j] = &promiseTime{}
	}
	return w.promiseTimes[j]
}

// cardResources are the resources of cards in random worlds.
var cardResources = []string{testbed.GPU, migName, mpsName, npuName, vgpuName}

const (
	migName = "nvidia.com/mig-1g.10gb"
	mpsName = "nvidia.com/gpu.shared"
	npuName = "huawei.com/Ascend910"
)

// The card annotations of queues.
var quotaKeys = []string{card.QuotaKey, card.DeservedKey, card.GuaranteeKey}

// resourceOf returns the resource of a card in random worlds.
func resourceOf(name string) string {
	switch {
	case strings.Contains(name, "mig"):
		return migName
	case strings.Contains(name, "mps"):
		return mpsName
	case name == "N":
		return npuName
	}
	return testbed.GPU
}

// cardOf returns the card that a resource of a node is, "" where the labels do not say.
func cardOf(n workload.Node, resource string) string {
	product, npu := n.Labels["nvidia.com/gpu.product"], n.Labels["huawei.com/Ascend910.product"]
	if resource == npuName {
		return npu
	}
	if resource == vgpuName {
		return sharedOf(n).model
	}
	if product == "" {
		return ""
	}
	switch _, has := n.Allocatable[resource]; {
	case resource == testbed.GPU:
		return product
	case resource == migName && has:
		return product + "/mig-1g.10gb-mixed"
	case resource == mpsName && has && n.Labels["nvidia.com/gpu.replicas"] != "":
		return product + "/mps-80g*1/4"
	}
	return ""
}

// hold determines the cards that a pod has on a node. What a node named stays. Where no
// node names one, a pod has a card that it names itself. Which one is not sure: that
// depends on the cards that the scheduler knows.
func (w *chaos) hold(p *Pod, node string, counted bool) {
	if w.has[p] == nil {
		w.has[p] = map[string]namedCard{}
	}
	for _, resource := range cardResources {
		before, had := w.has[p][resource]
		if had && resource == vgpuName && w.otherwiseAssigned(p) {
			before.doubt = true
			w.has[p][resource] = before
		}
		if p.Spec.Requests[resource] == 0 || before.sure && counted {
			continue // while cards do not count in its queue, the scheduler forgets
		}
		first, _, _ := strings.Cut(p.Spec.Cards, "|")
		now := namedCard{card: first, doubt: first != "" || !w.isCardResource(resource)}
		if n := w.Nodes[node]; n != nil && !n.Lost && cardOf(n.Spec, resource) != "" {
			now = namedCard{card: cardOf(n.Spec, resource), sure: counted}
		}
		if now.milli = 1000 * float64(p.Spec.Requests[resource]); resource == vgpuName {
			now = w.holdFraction(p, node, now, before, had)
		}
		if had && (before.doubt || before.card != "" && before.card != now.card) {
			now.doubt = true
		}
		w.has[p][resource] = now
	}
	w.holdClaims(p, node)
}

// isCardResource reports whether a node has a card with this resource. Otherwise the
// scheduler may not know that it is one.
func (w *chaos) isCardResource(resource string) bool {
	for _, n := range w.Nodes {
		if !n.Lost && cardOf(n.Spec, resource) != "" {
			return true
		}
	}
	return false
}

// unsure reports whether the charge of a pod is not certain.
func (w *chaos) unsure(p *Pod) bool {
	for _, has := range w.has[p] {
		if has.doubt {
			return true
		}
	}
	return false
}

func (w *chaos) leaf(queue string) bool {
	if w.Tree {
		for _, name := range slices.Sorted(maps.Keys(w.Queues)) {
			if path := w.Path(name); name != queue && len(path) > 1 && path[1] == queue {
				return false
			}
		}
	}
	return true
}

// holdAll determines the cards of the pods that run.
func (w *chaos) holdAll() {
	for _, j := range slices.Concat(w.Jobs, w.Orphans) {
		w.orphaned[j] = w.orphaned[j] || w.missing(j.Spec.Queue)
		for _, p := range j.All() {
			if !p.Placed() {
				continue
			}
			forgotten := slices.Contains(w.Orphans, j) && w.forgets(p)
			if w.hold(p, p.Object.Spec.NodeName, w.counted(j.Spec.Queue)); forgotten {
				for resource, has := range w.has[p] {
					has.doubt = true
					w.has[p][resource] = has
				}
			}
			if w.missing(j.Spec.Queue) && unchecked(outlivesQueue) {
				for resource, has := range w.has[p] {
					has.sure, has.doubt = false, has.doubt || resource == vgpuName
					w.has[p][resource] = has
				}
			}
		}
	}
}

// missing reports whether sessions do not have a queue.
func (w *chaos) missing(queue string) bool { return w.Queues[queue] == nil }

// noteOtherCards notes whether pods have other cards since the scheduler restarted: it takes them to have had these
// from their start.
func (w *chaos) noteOtherCards() {
	for p, had := range w.had {
		for resource, c := range w.has[p] {
			w.use.doubt = w.use.doubt || had[resource].card != c.card || had[resource].doubt
		}
	}
	w.had = nil
}

// forgets reports whether the scheduler may not know an orphan: its node is lost, or when its PodGroup was deleted the
// plugin was not there, or its card did not count.
func (w *chaos) forgets(p *Pod) bool {
	for _, has := range w.has[p] {
		if !has.sure {
			return true
		}
	}
	n := w.Nodes[p.Object.Spec.NodeName]
	return n == nil || n.Lost || w.left
}

// begin lets the time between two cycles pass.
func (w *chaos) begin(deeds ...Deed) {
	w.Begin(deeds...)
	w.below = nil
	if w.Away == 0 {
		w.readAnnotations()
		w.readClaims()
		w.holdAll()
		w.noteOtherCards()
		w.watchPromises()
	}
}
