package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// claimedCards models the knowledge of a scheduler about a resource claim (docs/spec/cards.md, "Resource claims"). It lasts
// as long as pods have the claim, also if the claim is deleted.
type claimedCards struct {
	uid types.UID
	// placed is the most that the claim could get on its node when its first pod was placed there, nil before that.
	placed map[string]float64
	node   string
	cards  []string // the current devices of the node at that time
	// known has the cards of the allocated devices, "" for an unknown card. It is nil before the allocation.
	known map[int]string
	doubt bool
}

// charge returns the number of cards that the claim takes on a node, by card. first is the card that the pod names
// first.
func (h *claimedCards) charge(requests []oracle.ClaimRequest, devices []string, node, first string) map[string]float64 {
	switch {
	case h != nil && h.known != nil:
		sum := map[string]float64{}
		for _, name := range h.known {
			if name = cmp.Or(name, first); name != "" {
				sum[name]++
			}
		}
		return sum
	case h != nil && len(h.placed) > 0 && (h.node == node || strings.HasPrefix(string(h.uid), "c")):
		return h.placed // a shared claim is on the node of its first pod
	}
	return oracle.Most(requests, devices)
}

// requestsOf returns the requests of a claim.
func requestsOf(text string) []oracle.ClaimRequest {
	requests, _ := ParseClaim(text)
	return requests
}

func listOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// hasClaims reports whether a pod has resource claims.
func hasClaims(p PodSpec) bool { return p.Claims+p.Shares != "" }

// claimUse is a pod that refers to a claim.
type claimUse struct {
	job *Job
	pod *Pod
}

// claimUses returns the pods with a node by the key of their claims.
func (w *chaos) claimUses() map[string][]claimUse {
	uses := map[string][]claimUse{}
	for _, j := range slices.Concat(w.World.Jobs, w.World.Orphans) {
		for _, p := range j.All() {
			if !p.Placed() {
				continue
			}
			for _, key := range claimKeys(j, p) {
				uses[key] = append(uses[key], claimUse{j, p})
			}
		}
	}
	return uses
}

// claimKeys returns the keys of the claims that a pod refers to.
func claimKeys(j *Job, p *Pod) (keys []string) {
	for _, status := range p.Object.Status.ResourceClaimStatuses {
		keys = append(keys, j.Namespace()+"/"+*status.ResourceClaimName)
	}
	for _, name := range listOf(p.Spec.Shares) {
		keys = append(keys, j.Namespace()+"/"+name)
	}
	return keys
}

// readClaims follows the claims. The allocated devices of a claim count. Before the allocation, the most that the claim
// could get counts.
func (w *chaos) readClaims() {
	if w.claimed == nil || !w.counts() {
		w.claimed = map[string]*claimedCards{}
	}
	if !w.counts() {
		return
	}
	uses := w.claimUses()
	for _, c := range w.World.Claims {
		key := c.Namespace + "/" + c.Name
		h := w.claimed[key]
		if h == nil || h.uid != c.Object.UID {
			h = &claimedCards{uid: c.Object.UID, doubt: h != nil && len(uses[key]) > 0}
			w.claimed[key] = h
		}
		w.readClaim(h, c, uses[key])
	}
	for key := range w.claimed {
		namespace, name, _ := strings.Cut(key, "/")
		if w.Claim(namespace, name) == nil && len(uses[key]) == 0 {
			delete(w.claimed, key)
		}
	}
	w.returns = false
}

func (w *chaos) readClaim(h *claimedCards, c *Claim, uses []claimUse) {
	for _, use := range uses {
		h.doubt = h.doubt || !w.counted(use.job.Spec.Queue) || w.Path(use.job.Spec.Queue) == nil ||
			c.Node == "" && use.pod.Object.Spec.NodeName != uses[0].pod.Object.Spec.NodeName || w.returns
	}
	switch {
	case c.Node != "":
		if h.known == nil {
			w.checkAllocation(h, c)
			h.known, h.placed = map[int]string{}, nil
		}
		for _, i := range c.Devices {
			h.known[i] = cmp.Or(h.known[i], cardOfDevice(w.Pools[c.Node].Gives(), i))
		}
	case len(uses) == 0:
		h.known, h.placed, h.doubt = nil, nil, false
	default:
		h.known = nil
		if len(h.placed) == 0 {
			w.placeClaim(h, c, uses[0].pod.Object.Spec.NodeName)
		}
	}
}

func (w *chaos) placeClaim(h *claimedCards, c *Claim, node string) {
	h.node, h.cards = node, w.Pools[node].Gives()
	h.placed = oracle.Most(requestsOf(c.Text), h.cards)
}

// cardOfDevice returns the card of a device of a pool. One that is gone is the card of all others, if that is one.
func cardOfDevice(cards []string, i int) string {
	if i < len(cards) {
		return cards[i]
	}
	if slices.ContainsFunc(cards, func(name string) bool { return name != cards[0] }) || len(cards) == 0 {
		return ""
	}
	return cards[0]
}

// checkAllocation checks that a claim gets no more than it was charged for before, as long as the devices are the same.
func (w *chaos) checkAllocation(h *claimedCards, c *Claim) {
	if h.node != c.Node || len(h.placed) == 0 || !slices.Equal(h.cards, w.Pools[c.Node].Gives()) {
		return
	}
	got := map[string]float64{}
	for _, i := range c.Devices {
		got[h.cards[i]]++
	}
	w.seen["claims that were charged before they were allocated"]++
	for name, n := range got {
		if n > h.placed[name] {
			violated(exactClaims, "claim %s gets %g of %s, and was charged %g", c.Name, n, name, h.placed[name])
		}
	}
}

// noteClaims notes the most that the claims of a pod can get on the pod's node.
func (w *chaos) noteClaims(j *Job, p *Pod, node string) {
	if hasClaims(p.Spec) {
		w.seen["pods placed with claims"]++
	}
	for _, key := range claimKeys(j, p) {
		namespace, name, _ := strings.Cut(key, "/")
		if h, c := w.claimed[key], w.Claim(namespace, name); h != nil && c != nil && c.Node == "" && len(h.placed) == 0 {
			w.placeClaim(h, c, node)
		}
	}
}

// doubtMissingClaims doubts the claims of a pod that do not exist. No scheduler with a plugin for claims places the pod.
func (w *chaos) doubtMissingClaims(j *Job, p *Pod) {
	for _, key := range claimKeys(j, p) {
		namespace, name, _ := strings.Cut(key, "/")
		if w.Claim(namespace, name) == nil && w.claimed != nil {
			w.claimed[key] = &claimedCards{doubt: true}
		}
	}
}

const claimPrefix = "claim "

// holdClaims determines the cards that a pod has by the claims that were made for it alone.
func (w *chaos) holdClaims(p *Pod, node string) {
	has, doubt := w.has[p], false
	for key, of := range has {
		if strings.HasPrefix(key, claimPrefix) {
			doubt = doubt || of.doubt
			delete(has, key)
		}
	}
	first, _, _ := strings.Cut(p.Spec.Cards, "|")
	for i, text := range listOf(p.Spec.Claims) {
		h := w.ownClaim(p, i)
		for name, n := range h.charge(requestsOf(text), w.Pools[node].Gives(), node, first) {
			has[fmt.Sprint(claimPrefix, i, " ", name)] = namedCard{card: name, sure: true, doubt: doubt || h != nil && h.doubt, milli: 1000 * n}
		}
	}
}

// ownClaim returns a claim that was made for a pod alone, nil for one that is not known.
func (w *chaos) ownClaim(p *Pod, i int) *claimedCards {
	if p.Object == nil || i >= len(p.Object.Status.ResourceClaimStatuses) {
		return nil
	}
	return w.claimed[p.Object.Namespace+"/"+*p.Object.Status.ResourceClaimStatuses[i].ResourceClaimName]
}

// goneDevices returns the cards of a pod by devices that are gone, or that are other cards now.
func (w *chaos) goneDevices(p *Pod, node string) amounts {
	gone, gives := amounts{}, w.Pools[node].Gives()
	first, _, _ := strings.Cut(p.Spec.Cards, "|")
	for i := range listOf(p.Spec.Claims) {
		h := w.ownClaim(p, i)
		if h == nil {
			continue
		}
		for device, name := range h.known {
			if name = cmp.Or(name, first); device >= len(gives) || gives[device] != name {
				gone[cardPrefix+name] += 1000
			}
		}
	}
	return gone
}

// shared is a claim that a pod shares, with its charge.
type shared struct {
	key    string
	charge amounts
	doubt  bool
}

// shares returns the claims that a pod shares, with their charges on a node.
func (c *chaosCycle) shares(j *Job, p *Pod, node string) (all []shared) {
	if c.Plugin == session.ProportionName || !c.counted(j.Spec.Queue) {
		return nil
	}
	first, _, _ := strings.Cut(p.Spec.Cards, "|")
	for _, name := range listOf(p.Spec.Shares) {
		s := shared{key: j.Namespace() + "/" + name, charge: amounts{}}
		h, claim := c.claimed[s.key], c.Claim(j.Namespace(), name)
		var requests []oracle.ClaimRequest
		if claim != nil {
			requests = requestsOf(claim.Text)
		} else if h == nil {
			continue
		}
		if h != nil {
			s.doubt = h.doubt || h.known != nil && slices.Contains(slices.Collect(maps.Values(h.known)), "")
		}
		for name, n := range h.charge(requests, c.Pools[node].Gives(), node, first) {
			s.charge[cardPrefix+name] += 1000 * n
		}
		if s.charge = c.withGroups(s.charge); len(s.charge) > 0 || s.doubt {
			all = append(all, s)
		}
	}
	return all
}

// sharers adds the charges of shared claims to the amounts of queues or holders, each claim once.
type sharers map[string]map[string]bool

func (s sharers) add(to string, has amounts, all []shared) (unsure bool) {
	for _, of := range all {
		unsure = unsure || of.doubt
		if s[to] == nil {
			s[to] = map[string]bool{}
		}
		if s[to][of.key] {
			continue
		}
		s[to][of.key] = true
		for d, amount := range of.charge {
			has[d] += amount
		}
	}
	return unsure
}

// sharing reports whether some pod shares a claim: the invariants that add pods up do not know them.
func (c *chaosCycle) sharing() bool {
	return slices.ContainsFunc(slices.Concat(c.World.Jobs, c.World.Orphans), func(j *Job) bool {
		return slices.ContainsFunc(j.All(), func(p *Pod) bool { return p.Spec.Shares != "" })
	})
}

// firstOf returns the charge of a pod's shared claims that no other pod in a queue, or below it, has.
func (c *chaosCycle) firstOf(queue string, p placement) amounts {
	more := amounts{}
	for _, of := range c.shares(p.job, p.pod, p.task.NodeName) {
		held := false
		c.eachCharge(func(j *Job, pod *Pod, task *api.TaskInfo, _ amounts) {
			held = held || pod != p.pod && slices.Contains(c.Path(j.Spec.Queue), queue) &&
				slices.ContainsFunc(c.shares(j, pod, task.NodeName), func(s shared) bool { return s.key == of.key })
		})
		for d, amount := range of.charge {
			if !held && !of.doubt {
				more[d] += amount
			}
		}
	}
	return more
}

// servesClaims reports whether a node serves the claims of a pod, with cards that it names.
func (c *chaosCycle) servesClaims(p *Pod, node string) bool {
	for _, text := range listOf(p.Spec.Claims) {
		most := oracle.Most(requestsOf(text), c.Pools[node].Gives())
		if len(most) == 0 {
			return false
		}
		for name := range most {
			if p.Spec.Cards != "" && !slices.Contains(card.ParseList(p.Spec.Cards), name) {
				return false
			}
		}
	}
	return p.Spec.Shares == "" // not asked
}

// getsCards reports whether the claims of a pod can get it cards on some node, or have got some.
func (c *chaosCycle) getsCards(j *Job, p *Pod, node string) bool {
	for _, text := range listOf(p.Spec.Claims) {
		for _, pool := range c.Pools {
			if len(oracle.Most(requestsOf(text), pool.Gives())) > 0 {
				return true
			}
		}
	}
	for key, has := range c.has[p] {
		if strings.HasPrefix(key, claimPrefix) && has.card != "" {
			return true
		}
	}
	for _, key := range claimKeys(j, p) {
		if h := c.claimed[key]; h != nil && len(h.known) > 0 {
			return true // also if nobody knows which cards its devices were
		}
	}
	for _, name := range listOf(p.Spec.Shares) {
		claim := c.Claim(j.Namespace(), name)
		for _, pool := range c.Pools {
			if claim != nil && len(oracle.Most(requestsOf(claim.Text), pool.Gives())) > 0 {
				return true
			}
		}
	}
	return len(c.shares(j, p, node)) > 0
}

// mostOfClaims adds the most that is reserved for the claims of a pod to a.
func (w *chaos) mostOfClaims(a amounts, p *Pod) {
	for _, text := range listOf(p.Spec.Claims) {
		most := map[string]float64{}
		for _, pool := range w.Pools {
			for name, n := range oracle.Most(requestsOf(text), pool.Gives()) {
				most[name] = max(most[name], 1000*n)
			}
		}
		for name, amount := range most {
			a[cardPrefix+name] += amount
		}
	}
}

// remembersClaims reports whether a scheduler that has just started would have other cards of a claim.
func (w *chaos) remembersClaims() bool {
	uses := w.claimUses()
	for key, h := range w.claimed {
		namespace, name, _ := strings.Cut(key, "/")
		c := w.Claim(namespace, name)
		if c == nil || h.doubt {
			return true
		}
		fresh := &claimedCards{uid: h.uid}
		w.readClaim(fresh, c, uses[key])
		if !maps.Equal(fresh.known, h.known) || !maps.Equal(fresh.placed, h.placed) {
			return true
		}
	}
	return false
}

// claims draws devices on nodes, and jobs with pods that get them by resource claims.
func (d *draw) claims() {
	if d.plain || !d.chance(25) {
		return
	}
	nodes := 1 + d.IntN(2)
	for i := range nodes {
		name := fmt.Sprintf("r%d", i)
		node := SetNode{Node: workload.Node{Name: name, Allocatable: workload.Resources{"cpu": 64000, "memory": 256 << 30, "pods": 100}}}
		d.do(1, node)
		d.do(1, SetDevices{Node: name, Cards: d.devices()})
		for range d.IntN(4) {
			d.do(1+d.IntN(chaosCycles), SetDevices{Node: name, Cards: d.devices(), Old: d.chance(30)})
		}
		if d.chance(25) {
			lost := 1 + d.IntN(chaosCycles-10)
			d.do(lost, LoseNode{Node: name})
			if d.chance(60) {
				d.do(lost+1+d.IntN(4), ReplacePods{Node: name})
			}
			if d.chance(70) {
				d.do(lost+2+d.IntN(8), node)
			}
		}
	}
	shares := d.chance(40)
	for i := range 1 + d.IntN(3) {
		if shares {
			d.makeClaim(fmt.Sprintf("c%d", i))
		}
	}
	for i := range 3 + d.IntN(10) {
		d.claimant(fmt.Sprintf("d%d", i), shares)
	}
	slices.SortStableFunc(d.s.Acts, func(x, y Act) int { return cmp.Compare(x.Cycle, y.Cycle) })
}

// devices draws the cards of devices.
func (d *draw) devices() (cards []string) {
	for range d.IntN(12) {
		cards = append(cards, pick(d, "A", "A", "A", "B", "A/mig-1g.10gb-mixed"))
	}
	return cards
}

// makeClaim draws a claim that pods share.
func (d *draw) makeClaim(name string) {
	from := 1 + d.IntN(10)
	d.do(from, MakeClaim{Name: name, Requests: d.claim()})
	if d.chance(30) {
		d.do(from+1+d.IntN(20), DeleteClaim{Name: name})
		if d.chance(50) {
			d.do(from+22+d.IntN(10), MakeClaim{Name: name, Requests: d.claim()})
		}
	}
}

// claim draws the requests of a claim.
func (d *draw) claim() string {
	return pick(d, "1xA", "1xA", "2xA", "1xB", "1xA|B", "2xA|B", "1xA;1xB", "2xA;1xA/mig-1g.10gb-mixed", "1xA/mig-1g.10gb-mixed", "allxB", "1xA+1xB", "1xA+1xA|B")
}

// claimant draws a job with claims, and the later events of the job.
func (d *draw) claimant(name string, shares bool) {
	j := JobSpec{Name: name, Queue: d.home()}
	p := PodSpec{Claims: d.claim(), Requests: workload.Resources{"cpu": 100, "memory": 1 << 29}}
	switch n := d.IntN(10); {
	case shares && n < 5:
		p.Claims, p.Shares = "", fmt.Sprintf("c%d", d.IntN(3))
	case shares && n < 6:
		p.Shares = fmt.Sprintf("c%d", d.IntN(3))
	case n < 8:
		p.Claims += "," + d.claim()
	}
	if d.chance(25) {
		p.Cards = pick(d, "A", "A|B", "A|B|A/mig-1g.10gb-mixed", "B")
	}
	for range 1 + d.IntN(4) {
		j.Pods = append(j.Pods, p)
	}
	j.MinMember = pick(d, 0, 1, 1, len(j.Pods))
	if d.chance(60) {
		j.MinResources = workload.Resources{"cpu": 100 * int64(j.MinMember), "memory": int64(j.MinMember) << 29}
	}
	from := 1 + d.IntN(chaosCycles-10)
	d.do(from, SubmitJob{JobSpec: j})
	for range d.IntN(4) {
		d.do(from+1+d.IntN(9), FinishPod{Job: name, Pod: d.IntN(4)})
	}
	if d.chance(30) {
		d.do(from+1+d.IntN(9), ScaleJob{Job: name, Pods: d.IntN(6)})
	}
	if d.chance(30) {
		d.do(from+1+d.IntN(9), RemoveJob{Job: name, Orphans: d.chance(50)})
	}
}
