package question

import "testing"

// world has a root with two leaves, and a node for each of two models.
func world() *World {
	return &World{
		Nodes: []Node{{Name: "a", Model: "A", Cards: 8}, {Name: "b", Model: "B", Cards: 2}},
		Queues: []Queue{
			{Name: "root", Quota: 6},
			{Name: "x", Parent: "root", Leaf: true, Quota: 4},
			{Name: "y", Parent: "root", Leaf: true, Quota: 4},
		},
		Running: []Job{{Name: "r", Queue: "x", Model: "A", Cards: 3, Node: "a"}},
		Waiting: []Job{
			{Name: "x1", Queue: "x", Model: "A", Cards: 1, Fits: true},
			{Name: "x2", Queue: "x", Model: "A", Cards: 2},
			{Name: "y1", Queue: "y", Model: "A", Cards: 2, Fits: true},
			{Name: "yb", Queue: "y", Model: "B", Cards: 3, Fits: true},
		},
		Reclaims: []Reclaim{{Job: "x2", From: "y"}},
	}
}

func TestAudit(t *testing.T) {
	for name, c := range map[string]struct {
		placements []Placement
		want       audit
	}{
		"all that fit, without nodes": {[]Placement{{Job: "x1"}, {Job: "y1"}, {Job: "yb"}}, audit{}},
		"one is left":                 {[]Placement{{Job: "x1"}, {Job: "y1"}}, audit{left: 1}},
		"over a leaf":                 {[]Placement{{Job: "x2"}, {Job: "yb"}}, audit{exceeded: 1}},
		"over a leaf and the root": {
			[]Placement{{Job: "x2"}, {Job: "y1"}, {Job: "yb"}}, audit{exceeded: 2},
		},
		"nodes":           {[]Placement{{"x1", "a"}, {"y1", "a"}, {Job: "yb"}}, audit{}},
		"a full node":     {[]Placement{{"x1", "a"}, {"y1", "a"}, {"yb", "b"}}, audit{overfilled: 1}},
		"another model":   {[]Placement{{"x1", "b"}, {"y1", "a"}, {Job: "yb"}}, audit{overfilled: 1}},
		"an unknown node": {[]Placement{{"x1", "gone"}, {"y1", "a"}, {Job: "yb"}}, audit{overfilled: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := world().audit(c.placements)
			if err != nil || got != c.want {
				t.Errorf("got %+v and %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestAuditOfAJobThatDoesNotWait(t *testing.T) {
	for _, placements := range [][]Placement{{{Job: "r"}}, {{Job: "x1"}, {Job: "x1"}}} {
		if _, err := world().audit(placements); err == nil {
			t.Errorf("%v: no error", placements)
		}
	}
}

func TestCorrect(t *testing.T) {
	for _, c := range []struct {
		victims []string
		want    bool
	}{{nil, false}, {[]string{"y"}, true}, {[]string{"y", "y"}, true}, {[]string{"y", "x"}, false}} {
		if got := world().correct(0, c.victims); got != c.want {
			t.Errorf("%v: got %v", c.victims, got)
		}
	}
}

func TestWrong(t *testing.T) {
	w := world()
	if n := w.wrong(&Engine{}); n != 0 {
		t.Errorf("an engine without the question has %d wrong answers", n)
	}
	if n := w.wrong(&Engine{Fits: func(int) bool { return true }}); n != 1 {
		t.Errorf("got %d wrong answers, want 1", n)
	}
}
