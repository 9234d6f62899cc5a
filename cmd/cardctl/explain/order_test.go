package explain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
)

func TestBehindInWords(t *testing.T) {
	for want, b := range map[string]explain.Behind{
		"queue q is second for A: averaged 14.2 of 8 deserved; a goes first": {Queue: "q", Resource: "A", Place: 2, Counted: 14.21, Norm: 8,
			First: []explain.Ahead{{Queue: "a"}}},
		"queue q is fourth for A: averaged 1 of 8 deserved; a, b and c (below deserved) go first": {Queue: "q", Resource: "A", Place: 4, Counted: 1, Norm: 8,
			First: []explain.Ahead{{Queue: "a"}, {Queue: "b"}, {Queue: "c", Owed: true}}},
		"queue q is number 11 for A: averaged 2 and deserves none; a goes first": {Queue: "q", Resource: "A", Place: 11, Counted: 2,
			First: []explain.Ahead{{Queue: "a"}}},
	} {
		assert.Equal(t, want, b.String())
	}
}

// TestBehind has three queues that wait for cards. edit changes the texts of examples/fairness.
func TestBehind(t *testing.T) {
	store := types.NamespacedName{Namespace: "volcano-system", Name: "capacity-card-usage"}
	for name, test := range map[string]struct {
		change func(o *input.Objects, c *engine.Configuration)
		want   map[string]string // by job, its order
	}{
		"as it is": {nil, map[string]string{
			"more": "queue batch is second for NVIDIA-H200: averaged 8.3 of 8 deserved; serving goes first",
			"next": "queue research is third for NVIDIA-H200: averaged 14.2 of 8 deserved; serving and batch go first",
		}},
		"usage is not known": {func(_ *input.Objects, c *engine.Configuration) { c.Usage, c.UsageLacks = nil, "no permission" }, nil},
		"it is off":          {func(_ *input.Objects, c *engine.Configuration) { c.Arguments["fairShareHalfLife"] = "0s" }, nil},
		"a priority decides": {func(o *input.Objects, _ *engine.Configuration) {
			for _, q := range o.Queues {
				if q.Name == "serving" {
					q.Spec.Priority = 5
				}
			}
		}, map[string]string{
			"next": "queue research is third for NVIDIA-H200: averaged 14.2 of 8 deserved; serving and batch go first",
		}},
		"its own quota refuses it": {func(o *input.Objects, _ *engine.Configuration) {
			for _, q := range o.Queues {
				if q.Name == "research" || q.Name == "batch" {
					q.Annotations["volcano.sh/card.quota"] = `{"NVIDIA-H200": 10}`
				}
			}
		}, nil},
		"a queue has less than it deserves": {func(o *input.Objects, _ *engine.Configuration) {
			for _, q := range o.Queues {
				if q.Name == "batch" {
					q.Annotations["volcano.sh/card.deserved"] = `{"NVIDIA-H200": 13}`
				}
			}
		}, map[string]string{
			"embed": "queue serving is second for NVIDIA-H200: averaged 7 of 8 deserved; batch (below deserved) goes first",
			"next":  "queue research is third for NVIDIA-H200: averaged 14.2 of 8 deserved; batch (below deserved) and serving go first",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := input.ReadFiles([]string{"../../../examples/fairness"}, false, nil, nil)
			require.NoError(t, err)
			given, _, err := o.Configuration()
			require.NoError(t, err)
			c, err := engine.Configure(given.Text)
			require.NoError(t, err)
			c.Usage, err = o.UsageIn(store)
			require.NoError(t, err)
			assert.Equal(t, time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), c.Usage.Now.UTC(), "nothing in the dump is later")
			if test.change != nil {
				test.change(o, c)
			}
			w, err := engine.Build(o)
			require.NoError(t, err)
			findings, err := explain.Jobs(t.Context(), w, c, explain.Options{})
			require.NoError(t, err)
			got := map[string]string{}
			for _, f := range findings {
				for _, b := range f.Behind {
					got[f.Name] += b.String()
				}
			}
			if test.want == nil {
				test.want = map[string]string{}
			}
			assert.Equal(t, test.want, got)
		})
	}
}
