package policy

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLists has the values that a list of words sets. The words have any order, and spaces around them.
func TestLists(t *testing.T) {
	for key, texts := range map[string]map[string]Values{
		OrderKey: {
			"fifo":                          {JobOrder: {Text: "fifo", Order: Order{FIFO, time.Hour}}},
			"best-effort":                   {JobOrder: {Text: "best-effort"}},
			"priority-fifo":                 {JobOrder: {Text: "priority-fifo", Order: Order{PriorityFIFO, time.Hour}}},
			"priority-fifo,hold=30m":        {JobOrder: {Text: "priority-fifo,hold=30m", Order: Order{PriorityFIFO, 30 * time.Minute}}},
			" hold=0s\t, fifo ":             {JobOrder: {Text: "hold=0s,fifo", Order: Order{FIFO, 0}}},
			"nodes=1h30m":                   {FairShareHold: {Text: "nodes=1h30m", Duration: 90 * time.Minute}},
			"displace":                      {Displace: {Text: "displace", Flag: true}},
			"displace=off , nodes=0s":       {Displace: {Text: "displace=off"}, FairShareHold: {Text: "nodes=0s"}},
			"hold=2h,displace,fifo":         {JobOrder: {Text: "hold=2h,fifo", Order: Order{FIFO, 2 * time.Hour}}, Displace: {Text: "displace", Flag: true}},
			"best-effort,displace,nodes=1m": {JobOrder: {Text: "best-effort"}, Displace: {Text: "displace", Flag: true}, FairShareHold: {Text: "nodes=1m", Duration: time.Minute}},
		},
		FairShareKey: {
			"off":                       {FairShare: {Text: "off"}},
			"on":                        {FairShare: {Text: "on", Flag: true}},
			"namespaces":                {FairShareNamespaces: {Text: "namespaces", Flag: true}},
			"weight=1.5,namespaces=off": {FairShareWeight: {Text: "weight=1.5", Milli: 1500}, FairShareNamespaces: {Text: "namespaces=off"}},
			"weight=2 ,on , namespaces": {FairShareWeight: {Text: "weight=2", Milli: 2000}, FairShare: {Text: "on", Flag: true}, FairShareNamespaces: {Text: "namespaces", Flag: true}},
		},
		MinRuntimeKey: {
			"reclaim=30m":             {MinRuntime: {Text: "reclaim=30m", Duration: 30 * time.Minute}},
			"preempt=0s":              {PreemptMinRuntime: {Text: "preempt=0s"}},
			"preempt=10m, reclaim=1h": {MinRuntime: {Text: "reclaim=1h", Duration: time.Hour}, PreemptMinRuntime: {Text: "preempt=10m", Duration: 10 * time.Minute}},
		},
		EvictionBudgetKey: {
			"lose=10/1h":               {EvictionBudget: {Text: "lose=10/1h", Rate: Rate{10, time.Hour}}},
			"take=1/1m,lose=10000/31d": {ReclaimBudget: {Text: "take=1/1m", Rate: Rate{1, time.Minute}}, EvictionBudget: {Text: "lose=10000/31d", Rate: Rate{10000, 31 * 24 * time.Hour}}},
		},
		EnforceQuotaKey: {
			"off":                {EnforceQuota: {Text: "off"}},
			"after=30m":          {EnforceQuota: {Text: "after=30m", Flag: true, Duration: 30 * time.Minute}},
			"budgets , after=0s": {EnforceQuota: {Text: "budgets,after=0s", Flag: true, Budgeted: true}},
		},
	} {
		for text, want := range texts {
			for k := range want {
				want[k].Set = want[k].Text != ""
			}
			values, wrong := Parse(map[string]string{key: text})
			require.Empty(t, wrong, text)
			assert.Equal(t, want, values, text)
		}
	}
}

// TestWrongLists has the word that a problem names. No key of the annotation has a value.
func TestWrongLists(t *testing.T) {
	for key, texts := range map[string]map[string]string{
		OrderKey: {
			"fifo,": "", "fifo,hold": "hold", "fifo,hold=": "hold=", "fifo,hold=-1m": "hold=-1m", "fifo,hold=soon": "hold=soon",
			"fifo,hold=1d": "hold=1d", "best-effort,hold=1h": "hold=1h", "hold=1h,nodes=1h": "hold=1h", "fifo,1h": "1h",
			"fifo,hold=1h,hold=2h": "hold=2h", "fifo,fifo": "fifo", "fifo,priority-fifo": "priority-fifo", "fifo;displace": "fifo;displace",
			"displace,displace=off": "displace=off", "displace=on,fifo": "displace=on", "fifo,displaced": "displaced", "fifo,nodes =1h": "nodes =1h",
			"lifo": "lifo", "FIFO": "FIFO", "": "", "hold=1h": "hold=1h", ",": "",
		},
		FairShareKey: {
			"false": "false", "true": "true", "": "", "on,off": "off", "weight=0": "weight=0", "namespaces=on": "namespaces=on",
			"weight=1,weight=1": "weight=1", "off,weight": "weight",
		},
		MinRuntimeKey: {"30m": "30m", "": "", "reclaim=30m,10m": "10m", "preempt=": "preempt=", "reclaim=1m,reclaim=1m": "reclaim=1m"},
		EvictionBudgetKey: {
			"10/1h": "10/1h", "lose=10": "lose=10", "lose=0/1h": "lose=0/1h", "take=1/32d": "take=1/32d", "lose=1/1h,lose=1/2h": "lose=1/2h",
		},
		EnforceQuotaKey: {
			"": "", "true": "true", "30m": "30m", "after=": "after=", "after=-1m": "after=-1m", "after=1d": "after=1d", "on": "on",
			"after 30m": "after 30m", "budgets": "budgets", "after=30m,": "", "after=30m,budget": "budget", "off,budgets": "budgets",
			"off,after=1m": "after=1m", "after=1m,off": "after=1m", "budgets=off,after=1m": "budgets=off",
		},
	} {
		for text, word := range texts {
			values, wrong := Parse(map[string]string{key: text})
			require.Len(t, wrong, 1, text)
			assert.Equal(t, Values{}, values, text)
			assert.Equal(t, key, wrong[0].Key)
			end := "; " + quote(word) + " is wrong"
			assert.Equal(t, word != text, strings.HasSuffix(wrong[0].Reason, end), "%s: %s", text, wrong[0].Reason)
		}
	}

	_, wrong := Parse(map[string]string{MinRuntimeKey: "reclaim=1h,soon"})
	assert.Equal(t, []Key{MinRuntime, PreemptMinRuntime}, wrong[0].Keys)
	assert.Equal(t, `"reclaim=1h,soon" is not a list of reclaim=TIME; preempt=TIME, such as reclaim=30m,preempt=10m; "soon" is wrong`, wrong[0].Reason)
}

// FuzzLists expects the same values from the words of a good list in any order. Each key has the words that set it.
func FuzzLists(f *testing.F) {
	for _, text := range []string{"fifo,hold=30m", "displace=off, nodes=1h", "off,weight=2,namespaces", "reclaim=1h,preempt=0s",
		"lose=1/1h,take=2/1d", "budgets,after=1m", "fifo,,", "hold=1h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, a := range annotations {
			if a.words == nil {
				continue
			}
			values, problem := a.read(text)
			if problem != "" {
				require.Equal(t, Values{}, values, text)
				continue
			}

			words := strings.Split(text, ",")
			for i := range words {
				words[i] = strings.TrimSpace(words[i])
			}
			var said []string
			for k, v := range values {
				require.Equal(t, v.Text != "", v.Set, text)
				if v.Set {
					said = append(said, strings.Split(v.Text, ",")...)
				}
				values[k].Text = ""
			}
			require.ElementsMatch(t, words, said, text)

			rand.New(rand.NewPCG(uint64(len(text)), 1)).Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
			other, problem := a.read(strings.Join(words, " , "))
			require.Empty(t, problem, text)
			for k := range other {
				other[k].Text = ""
			}
			require.Equal(t, values, other, text)
		}
	})
}
