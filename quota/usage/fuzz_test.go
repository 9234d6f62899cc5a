package usage_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// FuzzRecord reads records that were tampered with, and has queues come, go and move.
func FuzzRecord(f *testing.F) {
	for _, text := range []string{
		`{"columns":[{"name":"H200","card":true}],"root":"root","queues":{"a":{"usage":[8]},"a1":{"parent":"a","usage":[4]},"b":{"parent":"a","usage":[1],"deleted":true}}}`,
		`{"columns":[{"name":"cpu"},{"name":"cpu"}],"queues":{"a":{"parent":"b","usage":[8,1e18]},"b":{"parent":"a","usage":[1,1e18]}}}`,
		`{"root":"a","queues":{"a":{"parent":"a","usage":[]},"root":{"parent":"x","usage":[],"deleted":true}}}`,
		`{"columns":[{"name":"H200","card":true}],"root":"root","queues":{"b":{"parent":"c","usage":[-1e18],"deleted":true},"c":{"parent":"b","usage":[-5],"deleted":true}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r usage.Record
		if json.Unmarshal(text, &r) != nil {
			return
		}
		h, err := usage.New(r)
		if err != nil {
			return
		}
		for _, tr := range []*index.Tree{tree("a", "", "b", "a"), tree("b", "", "a", "b"), index.BuildTree([]index.Node{{Name: "c"}}, ""), tree("a1", "", "c", "")} {
			h.Advance(0.75)
			h.Bind(tr, columns)
			for q := range index.Queue(tr.Len()) {
				h.Set(q, 0, float64(q))
			}
			h.Begin()
			for q := range index.Queue(tr.Len()) {
				for _, x := range h.Row(q) {
					if x < 0 || math.IsNaN(x) || math.IsInf(x, 0) {
						t.Fatalf("queue %s has %v", tr.Name(q), x)
					}
				}
			}
			if h, err = usage.New(h.Record()); err != nil {
				return // sums of huge numbers
			}
		}
	})
}
