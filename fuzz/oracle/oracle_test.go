package oracle

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestSplit divides the cluster by weight: a is at its capability, and b at its guarantee.
func TestSplit(t *testing.T) {
	amount := func(cpu float64) Amounts { return Amounts{CPU: cpu} }
	o := New(Cluster{
		Root:     "root",
		Total:    amount(120),
		Bound:    amount(Unlimited),
		ByWeight: true,
		Queues: []Queue{
			{Name: "a", Weight: 1, Capability: amount(20)},
			{Name: "b", Weight: 1, Guarantee: amount(40)},
			{Name: "c", Weight: 2},
		},
	})

	for name, want := range map[string]float64{"root": 120, "a": 20, "b": 40, "c": 60} {
		assert.Equal(t, want, o.Deserved(name)[CPU], name)
	}
}

// TestShares divides 7 cards. Shares of 100% lose none, unless one of them is a number.
func TestShares(t *testing.T) {
	share := func(percent string, of ...float64) map[string]Share {
		rat, _ := new(big.Rat).SetString(percent)
		s := Share{Percent: rat, Max: Unlimited}
		if len(of) > 0 {
			s.Min, s.Max = of[0], of[1]
		}
		return map[string]Share{"A": s}
	}
	for name, c := range map[string]struct {
		a, b, c map[string]Share
		number  Amounts
		want    []float64
	}{
		"the larger fraction":  {share("30"), share("30"), share("40"), nil, []float64{2000, 2000, 3000}},
		"the names":            {share("50"), share("50"), nil, nil, []float64{4000, 3000, 0}},
		"thirds":               {share("33.33"), share("33.34"), share("33.33"), nil, []float64{2000, 3000, 2000}},
		"less than 100%":       {share("30"), share("30"), share("39.99"), nil, []float64{2000, 2000, 2000}},
		"more than 100%":       {share("50"), share("50"), share("0.01"), nil, []float64{3000, 3000, 0}},
		"one of them a number": {share("50"), share("50"), nil, Amounts{"A": 1000}, []float64{3000, 3000, 1000}},
		"bounds":               {share("50", 5000, 9000), share("50", 0, 1000), nil, nil, []float64{5000, 1000, 0}},
	} {
		queue := func(name string, shares map[string]Share, amounts Amounts) Queue {
			return Queue{Name: name, CardsCount: true, CardQuota: amounts, Shares: CardShares{Quota: shares}}
		}
		o := New(Cluster{Root: "root", Cards: []string{"A"}, Card: 1000, Available: Amounts{"A": 7000}, Bound: Amounts{},
			Queues: []Queue{queue("a", c.a, nil), queue("b", c.b, nil), queue("c", c.c, c.number)}})
		got := []float64{o.Capability("a")["A"], o.Capability("b")["A"], 0}
		if c.c != nil || c.number != nil {
			got[2] = o.Capability("c")["A"]
		}
		assert.Equal(t, c.want, got, name)
	}
}

// TestBroken has queues that do not reach the root.
func TestBroken(t *testing.T) {
	o := New(Cluster{Root: "root", Queues: []Queue{
		{Name: "team"},
		{Name: "train", Parent: "team"},
		{Name: "lost", Parent: "gone"},
		{Name: "x", Parent: "y"},
		{Name: "y", Parent: "x"},
	}})

	for name, want := range map[string]string{"train": "", "team": "inner", "lost": "broken", "x": "broken", "z": "unknown"} {
		assert.Equal(t, want, o.Eligible(name), name)
	}
	assert.Equal(t, []string{"train", "team", "root"}, o.Path("train"))
}

// TestAllocatable asks the queue of a task and its ancestors.
func TestAllocatable(t *testing.T) {
	amount := func(cpu float64) Amounts { return Amounts{CPU: cpu} }
	o := New(Cluster{Root: "root", Total: amount(10), Bound: amount(10), Queues: []Queue{
		{Name: "team", Capability: amount(8)},
		{Name: "train", Parent: "team", Capability: amount(6)},
		{Name: "serve", Parent: "team", Capability: amount(6)},
	}})
	o.Charge("serve", amount(4))

	for name, c := range map[string]struct {
		cpu  float64
		full string
	}{
		"it fits":                {4, ""},
		"its parent has no room": {5, "team"},
		"the queue has no room":  {7, "train"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.full, o.Allocatable("train", amount(c.cpu)))
		})
	}
}

// TestWindowBegin finds the beginning of each kind of window on a Wednesday.
func TestWindowBegin(t *testing.T) {
	now := time.Date(2025, 1, 15, 13, 30, 0, 0, time.UTC)
	for window, c := range map[string]struct {
		begin time.Time
		part  time.Duration
	}{
		"day":         {time.Date(2025, 1, 15, 0, 0, 0, 0, time.UTC), 0},
		"week":        {time.Date(2025, 1, 13, 0, 0, 0, 0, time.UTC), 0},
		"month":       {time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), 0},
		"12h":         {time.Date(2025, 1, 15, 12, 0, 0, 0, time.UTC), 0},
		"2d sliding":  {now.AddDate(0, 0, -2), time.Hour},
		"48h sliding": {now.AddDate(0, 0, -2), time.Hour},
	} {
		t.Run(window, func(t *testing.T) {
			begin, part := windowBegin(window, now)
			assert.True(t, c.begin.Equal(begin), begin)
			assert.Equal(t, c.part, part)
		})
	}
}

// TestTolerated lowers a bound in two steps. Each is enforced 30 minutes later.
func TestTolerated(t *testing.T) {
	start := time.Date(2025, 1, 15, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	bounds := []Bound{{at(0), 12}, {at(10), 8}, {at(20), 4}}
	for minutes, want := range map[int]float64{20: math.Inf(1), 30: 12, 40: 8, 49: 8, 50: 4, 90: 4} {
		assert.Equal(t, want, Tolerated(bounds, at(minutes), 30*time.Minute), minutes)
	}
}

// TestCountsFor counts an eviction for the queues that lose a pod, and that take it.
func TestCountsFor(t *testing.T) {
	a := []string{"a", "team", "root"}
	for name, c := range map[string]struct{ to, lost, taken []string }{
		"for a sibling":      {[]string{"b", "team", "root"}, a, []string{"b"}},
		"for another team":   {[]string{"c", "other", "root"}, a, []string{"c", "other"}},
		"for its own queue":  {a, nil, nil},
		"for nobody":         {nil, a, nil},
		"for an inner queue": {[]string{"team", "root"}, a, nil},
	} {
		t.Run(name, func(t *testing.T) {
			lost, taken := CountsFor(a, c.to)
			assert.Equal(t, c.lost, lost)
			assert.Equal(t, c.taken, taken)
		})
	}
}

// TestEnforced evicts pods that gangs can spare, and whole gangs.
func TestEnforced(t *testing.T) {
	member := func(name string, ran int64) Member {
		return Member{Name: name, Ran: ran, Has: map[string]float64{"A": 1}}
	}
	spares := Gang{Minimum: 1, Members: []Member{member("a-0", 9), member("a-1", 5)}}
	whole := Gang{Minimum: 2, Members: []Member{member("b-0", 1), member("b-1", 1)}}
	fixed := Gang{Minimum: 1, Members: []Member{{Name: "c-0", Fixed: true, Has: map[string]float64{"A": 1}}}}
	for name, c := range map[string]struct {
		above float64
		gangs []Gang
		want  []string
	}{
		"the pod that has run less":   {1, []Gang{spares}, []string{"a-1"}},
		"all pods of a gang":          {1, []Gang{whole}, []string{"b-0", "b-1"}},
		"no more than is needed":      {2, []Gang{spares, whole}, []string{"b-0", "b-1"}},
		"both":                        {3, []Gang{spares, whole}, []string{"a-1", "b-0", "b-1"}},
		"a pod that may not be taken": {1, []Gang{fixed}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, Enforced(map[string]float64{"A": c.above}, c.gangs))
		})
	}
}

// TestPlaces reads paths and weights.
func TestPlaces(t *testing.T) {
	places := Places([]Annotated{
		{Name: "train", Path: "root/team/train", Weights: "1/2/3"},
		{Name: "serve", Path: "root/team/serve", Weights: "1/4/1"},
		{Name: "plain"},
		{Name: "few", Path: "root/few", Weights: "1"},
		{Name: "again", Path: "root/team/train"},
	})

	assert.Equal(t, map[string]Place{
		"root":      {},
		"root/team": {Parent: "root", Weight: 4},
		"train":     {Parent: "root/team", Weight: 3},
		"serve":     {Parent: "root/team", Weight: 1},
		"plain":     {Parent: "root"},
		"few":       {Lost: true},
		"again":     {Lost: true},
	}, places)
}

// TestMost takes the largest alternative of each request.
func TestMost(t *testing.T) {
	devices := []string{"A", "A", "B"}
	for name, c := range map[string]struct {
		claim []ClaimRequest
		want  map[string]float64
	}{
		"one card":            {[]ClaimRequest{{{1, []string{"A"}}}}, map[string]float64{"A": 1}},
		"all cards":           {[]ClaimRequest{{{0, []string{"A", "B"}}}}, map[string]float64{"A": 2, "B": 1}},
		"no more than exist":  {[]ClaimRequest{{{2, []string{"A"}}}, {{2, []string{"A"}}}}, map[string]float64{"A": 2}},
		"the larger of two":   {[]ClaimRequest{{{1, []string{"A"}}, {2, []string{"A"}}}}, map[string]float64{"A": 2}},
		"two that are equal":  {[]ClaimRequest{{{1, []string{"A"}}, {1, []string{"A"}}}}, map[string]float64{"A": 1}},
		"the other has none":  {[]ClaimRequest{{{1, []string{"C"}}, {1, []string{"B"}}}}, map[string]float64{"B": 1}},
		"too few for request": {[]ClaimRequest{{{3, []string{"A"}}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, Most(c.claim, devices))
		})
	}
}
