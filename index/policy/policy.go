package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// Key identifies a policy annotation.
type Key int

// The keys, in the order of rules. The keys from ReclaimFence on decide which queue takes from which.
const (
	MaxJobs Key = iota
	OvercommitFactor
	InqueueTimeout
	JobOrder
	SoftQuota
	NamespaceCards
	NamespaceCapability
	HolderCards
	FairShare
	FairShareWeight
	FairShareNamespaces
	FairShareHold
	CardBudget
	ReclaimFence
	MinRuntime
	PreemptMinRuntime
	ReclaimDelay
	EvictionBudget
	ReclaimBudget
	EnforceQuota
	EvictionGrace
	keys // the number of keys
)

// The names of the annotations. The others are card.NamespaceKey for NamespaceCards, card.HolderKey for HolderCards,
// and card.BudgetKey for CardBudget.
const (
	FairShareKey           = "volcano.sh/fair-share"
	FairShareHoldKey       = "volcano.sh/fair-share-hold"
	FairShareNamespacesKey = "volcano.sh/fair-share.namespaces"
	FairShareWeightKey     = "volcano.sh/fair-share-weight"
	NamespaceCapabilityKey = "volcano.sh/capability.namespace"
	InqueueTimeoutKey      = "volcano.sh/inqueue-timeout"
	JobOrderKey            = "volcano.sh/order"
	SoftQuotaKey           = "volcano.sh/soft-quota"
	MaxJobsKey             = "volcano.sh/max-jobs"
	OvercommitFactorKey    = "volcano.sh/overcommit-factor"
	ReclaimFenceKey        = "volcano.sh/reclaim-fence"
	MinRuntimeKey          = "volcano.sh/min-runtime"
	PreemptMinRuntimeKey   = "volcano.sh/preempt-min-runtime"
	ReclaimDelayKey        = "volcano.sh/reclaim-delay"
	EvictionBudgetKey      = "volcano.sh/eviction-budget"
	ReclaimBudgetKey       = "volcano.sh/reclaim-budget"
	EnforceQuotaKey        = "volcano.sh/enforce-quota"
	EvictionGraceKey       = "volcano.sh/eviction-grace" // of queues, and of pods and PodGroups
	OverrideKey            = "volcano.sh/override"       // windows of other values: package override reads it
)

// rule describes how an annotation is read.
type rule struct {
	name     string
	want     string // describes a valid value, for the end of "is not …"
	inherits bool   // a queue without the annotation has the value of its parent
	parse    func(*Value, string) bool
}

var rules = [keys]rule{
	NamespaceCards:      {name: card.NamespaceKey, want: wantCards, parse: parseCards},
	NamespaceCapability: {name: NamespaceCapabilityKey, want: wantResources, parse: parseResources},
	HolderCards:         {name: card.HolderKey, want: wantHolders, parse: parseHolders},
	InqueueTimeout:      {name: InqueueTimeoutKey, want: WantDuration, inherits: true, parse: parseDuration},
	JobOrder:            {name: JobOrderKey, want: wantOrder, inherits: true, parse: parseOrder},
	SoftQuota:           {name: SoftQuotaKey, want: wantCards, parse: parseCards},
	MaxJobs:             {name: MaxJobsKey, want: wantCount, parse: parseCount},
	OvercommitFactor:    {name: OvercommitFactorKey, want: wantFactor, inherits: true, parse: parseFactor},
	FairShare:           {name: FairShareKey, want: wantFlag, inherits: true, parse: parseFlag},
	FairShareWeight:     {name: FairShareWeightKey, want: wantFactor, parse: parseFactor},
	FairShareNamespaces: {name: FairShareNamespacesKey, want: wantFlag, inherits: true, parse: parseFlag},
	FairShareHold:       {name: FairShareHoldKey, want: WantDuration, inherits: true, parse: parseDuration},
	CardBudget:          {name: card.BudgetKey, want: wantBudgets, parse: parseBudgets},
	ReclaimFence:        {name: ReclaimFenceKey, want: wantFlag, parse: parseFlag},
	MinRuntime:          {name: MinRuntimeKey, want: WantDuration, inherits: true, parse: parseDuration},
	PreemptMinRuntime:   {name: PreemptMinRuntimeKey, want: WantDuration, inherits: true, parse: parseDuration},
	ReclaimDelay:        {name: ReclaimDelayKey, want: WantDuration, inherits: true, parse: parseDuration},
	EvictionBudget:      {name: EvictionBudgetKey, want: wantRate, parse: parseRate},
	ReclaimBudget:       {name: ReclaimBudgetKey, want: wantRate, parse: parseRate},
	EnforceQuota:        {name: EnforceQuotaKey, want: wantEnforce, inherits: true, parse: parseEnforce},
	EvictionGrace:       {name: EvictionGraceKey, want: WantDuration, parse: parseDuration},
}

// Value is the value of one annotation. Each key uses one field besides Set.
type Value struct {
	Set       bool
	Flag      bool
	Count     int   // above 0
	Milli     int64 // a factor in thousandths, above 0
	Duration  time.Duration
	Budgeted  bool // EnforceQuota also counts budgets
	Cards     []card.Entry
	Budgets   []Budget // by the names of cards
	Rate      Rate
	Order     Order
	Resources v1.ResourceList
	Holders   []HolderLimits
}

// Values are the values of one queue by key. The zero Values set nothing.
type Values [keys]Value

// MaxJobs returns the number of jobs that may be admitted in a queue and below, 0 for any.
func (v *Values) MaxJobs() int { return v[MaxJobs].Count }

// SoftQuota returns the soft quotas of the queue itself by the names of cards.
func (v *Values) SoftQuota() []card.Entry { return v[SoftQuota].Cards }

// OvercommitFactor returns the factor of deserved up to which jobs are admitted, in
// thousandths, 0 for no bound.
func (v *Values) OvercommitFactor() int64 { return v[OvercommitFactor].Milli }

// InqueueTimeout returns how long the reservation for a job that is Inqueue without its minimum lasts, 0 for any time.
// set: the queue or an ancestor states it.
func (v *Values) InqueueTimeout() (timeout time.Duration, set bool) {
	return v[InqueueTimeout].Duration, v[InqueueTimeout].Set
}

// NoFairShare reports whether the past usage of the queue does not count.
func (v *Values) NoFairShare() bool { return v[FairShare].Set && !v[FairShare].Flag }

// FairShareWeight returns the weight of the queue's usage over time, in thousandths. 0 stands for the weight of
// its spec.
func (v *Values) FairShareWeight() int64 { return v[FairShareWeight].Milli }

// FairShareNamespaces reports whether usage over time orders the namespaces of the queue, and
// whether the queue or an ancestor states it.
func (v *Values) FairShareNamespaces() (on, set bool) {
	return v[FairShareNamespaces].Flag, v[FairShareNamespaces].Set
}

// FairShareHold returns how long a job of the queue waits for nodes before it holds the cards that it needs, so that
// others may not borrow them. 0 means that it never holds cards.
func (v *Values) FairShareHold() time.Duration { return v[FairShareHold].Duration }

// Budgets returns the budgets of cards of the queue itself.
func (v *Values) Budgets() []Budget { return v[CardBudget].Budgets }

// FairShareKeys returns the names of the annotations about usage over time that set a value.
func (v *Values) FairShareKeys() (names []string) {
	for k := FairShare; k <= FairShareHold; k++ {
		if v[k].Set {
			names = append(names, rules[k].name)
		}
	}

	return names
}

// ReclaimFence reports whether reclaim stops at the queue: no queue outside reclaims from the queue or below, and no
// queue below reclaims from outside.
func (v *Values) ReclaimFence() bool { return v[ReclaimFence].Flag }

// MinRuntime returns how long a pod runs before other queues may reclaim it, 0 for any time.
func (v *Values) MinRuntime() time.Duration { return v[MinRuntime].Duration }

// PreemptMinRuntime returns how long a pod runs before jobs of its own queue may preempt it,
// 0 for any time.
func (v *Values) PreemptMinRuntime() time.Duration { return v[PreemptMinRuntime].Duration }

// ReclaimDelay returns how long a pod waits before its queue reclaims for it, 0 for any time.
func (v *Values) ReclaimDelay() time.Duration { return v[ReclaimDelay].Duration }

// Inherit returns the values that hold in a queue, and the values that its children inherit. own
// are the values of the queue itself, and inherited the values from its parent. nil is no value.
func Inherit(own, inherited *Values) (values, below *Values) {
	if own == nil {
		return inherited, inherited
	}

	values = &Values{}
	below = &Values{}
	for k, r := range rules {
		values[k] = own[k]
		if inherited != nil && !own[k].Set {
			values[k] = inherited[k]
		}
		if r.inherits {
			below[k] = values[k]
		}
	}

	return values, below
}

// Texts are the policy annotations of an object by key. An absent annotation is not given.
type Texts [keys]struct {
	Text  string
	Given bool
}

// Annotated reports whether an object has any policy annotation.
func Annotated(annotations map[string]string) bool {
	if len(annotations) == 0 {
		return false
	}

	return slices.ContainsFunc(rules[:], func(r rule) bool {
		_, given := annotations[r.name]
		return given
	})
}

// Read returns the texts of all policy annotations.
func Read(annotations map[string]string) (t Texts) {
	for k, r := range rules {
		t[k].Text, t[k].Given = annotations[r.name]
	}
	return t
}

// Parse parses the annotations. Problem.Key is the name of the annotation. A key with a problem is not set here. The
// caller decides which value it has.
func (t *Texts) Parse() (values Values, problems map[Key]card.Problem) {
	for k, r := range rules {
		if !t[k].Given {
			continue
		}

		value := Value{Set: true}
		if r.parse(&value, strings.TrimSpace(t[k].Text)) {
			values[k] = value
			continue
		}

		if problems == nil {
			problems = map[Key]card.Problem{}
		}
		problems[Key(k)] = card.Problem{
			Key:    r.name,
			Reason: fmt.Sprintf("%s is not %s", strconv.Quote(index.Shorten(t[k].Text, 100)), r.want),
		}
	}

	return values, problems
}

// Held is a policy that is in force in a queue.
type Held struct {
	Name  string // of the annotation
	Text  string // of the annotation
	Level int    // in the path: the queue that sets it, 0 for the queue itself
	// Whole: the policy is one bound, or one fence, for the whole subtree of that queue.
	Whole bool
	// Takes: the policy decides which queue takes from which. It has no effect under the name proportion.
	Takes bool
}

// InForce returns the policies that are in force in a queue, in the order of the keys. path has the
// annotations of the queue and its ancestors, from the queue up. InForce leaves out a text that lifts
// a policy, such as a duration of 0, and a text with a problem.
func InForce(path []map[string]string) (all []Held) {
	var texts [keys][]Held
	for level, annotations := range path {
		if !Annotated(annotations) {
			continue
		}

		t := Read(annotations)
		values, _ := t.Parse()
		for k, r := range rules {
			if !values[k].Set || r.inherits && texts[k] != nil {
				continue
			}

			held := Held{Name: r.name, Level: level, Whole: !r.inherits, Takes: Key(k) >= ReclaimFence}
			if !values[k].lifts(Key(k)) {
				held.Text = strings.TrimSpace(t[k].Text)
			}
			texts[k] = append(texts[k], held)
		}
	}

	// A lifted policy has no text. Up to here, it hides the policy that the ancestors would pass on.
	for k := range texts {
		all = append(all, slices.DeleteFunc(texts[k], func(h Held) bool { return h.Text == "" })...)
	}

	return all
}

// lifts reports whether the value of a key has the effect of no policy.
func (v Value) lifts(k Key) bool {
	switch k {
	case ReclaimFence, EnforceQuota:
		return !v.Flag
	case FairShare:
		return v.Flag
	case JobOrder:
		return v.Order.Rule == BestEffort
	case FairShareHold, InqueueTimeout, MinRuntime, PreemptMinRuntime, ReclaimDelay:
		return v.Duration == 0
	case CardBudget:
		return len(v.Budgets) == 0
	case NamespaceCards, SoftQuota:
		return len(v.Cards) == 0
	case NamespaceCapability:
		return len(v.Resources) == 0
	case HolderCards:
		return len(v.Holders) == 0
	}
	return false
}

// Problems returns the problems of policy annotations, in the order of the keys.
func Problems(annotations map[string]string) (all []card.Problem) {
	if !Annotated(annotations) {
		return nil
	}

	t := Read(annotations)
	_, problems := t.Parse()
	for k := range keys {
		if p, bad := problems[k]; bad {
			all = append(all, p)
		}
	}

	return all
}

// Keys returns the names of all policy annotations.
func Keys() (all []string) {
	for _, r := range rules {
		all = append(all, r.name)
	}

	return all
}

// Prefix begins the names of all policy annotations, and of Volcano's own annotations. So an
// unknown key is a mistake only if it resembles the name of a policy.
const Prefix = "volcano.sh/"

// Short returns the name of an annotation without the prefix, such as max-jobs.
func Short(name string) string { return strings.TrimPrefix(name, Prefix) }

// Unknown returns the keys of annotations that are probably misspelt policies, in order.
func Unknown(annotations map[string]string) (problems []card.Problem) {
	for key := range annotations {
		ours := strings.HasPrefix(key, Prefix)
		if !ours || slices.Contains(names, key) || slices.Contains(card.QueueKeys, key) {
			continue
		}

		if suggestion := index.DidYouMean(key, names); suggestion != "" {
			problems = append(problems, card.Problem{Key: key, Reason: "is unknown and has no effect" + suggestion})
		}
	}

	slices.SortFunc(problems, func(x, y card.Problem) int { return strings.Compare(x.Key, y.Key) })
	return problems
}

// names are the names of the policies, without the names of cards: card.QueueKeys finds misspelt ones.
var names = func() (all []string) {
	all = append(all, OverrideKey)
	for _, r := range rules {
		if !slices.Contains(card.QueueKeys, r.name) {
			all = append(all, r.name)
		}
	}

	return all
}()
