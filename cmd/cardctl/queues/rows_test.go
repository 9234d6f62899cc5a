package queues

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
)

func TestBar(t *testing.T) {
	four := 4.0
	for want, h := range map[string]Holding{
		"[##########+++++.....]": {Allocated: 2, Inqueue: 1, Capability: &four},
		"[####################]": {Allocated: 9, Inqueue: 9, Capability: &four},
		"[....................]": {Capability: &four},
		"":                       {Allocated: 3},
	} {
		assert.Equal(t, want, strings.Join(h.Bar(22), ""))
	}
}

// TestUse expects the use of the card that is used most. cpu counts where there are no
// cards.
func TestUse(t *testing.T) {
	four := 4.0
	cpu := Holding{Resource: "cpu", Allocated: 4, Capability: &four}
	a, b := Holding{Resource: "A", Card: true, Allocated: 1, Inqueue: 1, Capability: &four}, Holding{Resource: "B", Card: true, Allocated: 1, Capability: &four}
	for want, holdings := range map[float64][]Holding{0.5: {cpu, a, b}, 0.25: {cpu, b}, 1: {cpu}, 0: {}} {
		assert.InDelta(t, want, (&Queue{Resources: holdings}).Use(), 0)
	}
	q := Queue{Resources: []Holding{cpu, a}}
	assert.Equal(t, []Row{{&q, a}}, Rows([]Queue{q}, false))
	assert.Equal(t, []Row{{&q, a}, {&q, cpu}}, Rows([]Queue{q}, true), "cards come first")
}

// TestCountWaiting counts each job in its queue and those above, and none of a queue that does not exist.
func TestCountWaiting(t *testing.T) {
	all := []Queue{{Queue: "root"}, {Queue: "a", Parent: "root"}, {Queue: "a1", Parent: "a"}, {Queue: "b", Parent: "root"}}
	early := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	late := metav1.NewTime(early.Add(time.Hour))
	CountWaiting(all, []explain.Finding{
		{Queue: "a1"}, {Queue: "a1", Since: &late}, {Queue: "a", Since: &early}, {Queue: "gone", Since: &early},
	})
	var counts []int
	for _, q := range all {
		counts = append(counts, q.Waiting)
	}
	assert.Equal(t, []int{3, 3, 2, 0}, counts)
	assert.Equal(t, []*metav1.Time{&early, &early, &late, nil}, []*metav1.Time{all[0].Since, all[1].Since, all[2].Since, all[3].Since})
}
