package policy

import (
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/index/card"
)

// The names of the annotations. The others are card.HolderKey and card.BudgetKey.
const (
	FairShareKey        = "volcano.sh/fair-share"
	InqueueTimeoutKey   = "volcano.sh/inqueue-timeout"
	OrderKey            = "volcano.sh/order"
	SoftQuotaKey        = "volcano.sh/soft-quota"
	MaxJobsKey          = "volcano.sh/max-jobs"
	OvercommitFactorKey = "volcano.sh/overcommit-factor"
	ReclaimFenceKey     = "volcano.sh/reclaim-fence"
	MinRuntimeKey       = "volcano.sh/min-runtime"
	ReclaimDelayKey     = "volcano.sh/reclaim-delay"
	EvictionBudgetKey   = "volcano.sh/eviction-budget"
	EnforceQuotaKey     = "volcano.sh/enforce-quota"
	EvictionGraceKey    = "volcano.sh/eviction-grace" // of queues, and of pods and PodGroups
	OverrideKey         = "volcano.sh/override"       // windows of other values: package override reads it
)

// Key identifies a policy. An annotation sets one policy or several.
type Key int

// The keys, in the order of annotations. The keys from ReclaimFence on decide which queue takes from which.
const (
	MaxJobs Key = iota
	OvercommitFactor
	InqueueTimeout
	JobOrder
	SoftQuota
	HolderQuota
	FairShare
	FairShareWeight
	FairShareNamespaces
	FairShareHold
	Displace
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

// annotations are sorted by the first key that they set.
var annotations = []annotation{
	{name: MaxJobsKey, key: MaxJobs, want: wantCount, parse: parseCount},
	{name: OvercommitFactorKey, key: OvercommitFactor, want: wantFactor, parse: parseFactor},
	{name: InqueueTimeoutKey, key: InqueueTimeout, want: WantDuration, parse: parseDuration},
	{name: OrderKey, words: &orderWords},
	{name: SoftQuotaKey, key: SoftQuota, want: wantCards, parse: parseCards},
	{name: card.HolderKey, key: HolderQuota, want: wantHolders, parse: parseHolders},
	{name: FairShareKey, words: &fairShareWords},
	{name: card.BudgetKey, key: CardBudget, want: wantBudgets, parse: parseBudgets},
	{name: ReclaimFenceKey, key: ReclaimFence, want: wantFlag, parse: parseFlag},
	{name: MinRuntimeKey, words: &runtimeWords},
	{name: ReclaimDelayKey, key: ReclaimDelay, want: WantDuration, parse: parseDuration},
	{name: EvictionBudgetKey, words: &evictionWords},
	{name: EnforceQuotaKey, words: &enforceWords},
	{name: EvictionGraceKey, key: EvictionGrace, want: WantDuration, parse: parseDuration},
}

// inherited are the keys that a queue without a value has from its parent.
var inherited = [keys]bool{
	OvercommitFactor: true, InqueueTimeout: true, JobOrder: true, FairShare: true, FairShareNamespaces: true,
	FairShareHold: true, Displace: true, MinRuntime: true, PreemptMinRuntime: true, ReclaimDelay: true,
	EnforceQuota: true,
}

// Value is the value of one key. Each key uses one field besides Set and Text.
type Value struct {
	Set      bool
	Text     string // of the annotation, or of its words that set the key
	Flag     bool
	Count    int   // above 0
	Milli    int64 // a factor in thousandths, above 0
	Duration time.Duration
	Budgeted bool // EnforceQuota also counts budgets
	Cards    []card.Entry
	Budgets  []Budget // by the names of cards
	Rate     Rate
	Order    Order
	Holders  []HolderLimits
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

// Displaces reports whether a job of the queue is admitted in place of jobs of a lower priority that have not started.
func (v *Values) Displaces() bool { return v[Displace].Flag }

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

// SetsAny reports whether any of the keys has a value.
func (v *Values) SetsAny(keys []Key) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return v[k].Set })
}

// Inherit returns the values that hold in a queue, and the values that its children inherit. own
// are the values of the queue itself, and above the values from its parent. nil is no value.
func Inherit(own, above *Values) (values, below *Values) {
	if own == nil {
		return above, above
	}

	values = &Values{}
	below = &Values{}
	for k := range keys {
		values[k] = own[k]
		if above != nil && !own[k].Set {
			values[k] = above[k]
		}
		if inherited[k] {
			below[k] = values[k]
		}
	}

	return values, below
}
