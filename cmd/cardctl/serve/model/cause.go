package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// Cause is why jobs wait: what one queue lacks, or what one rule refuses.
type Cause struct {
	Rule     report.Rule `json:"rule"`
	Level    string      `json:"level,omitempty"`    // the queue that refuses, "" for none
	Resource string      `json:"resource,omitempty"` // that it lacks
	Least    float64     `json:"least,omitempty"`    // of the resource: what the job that lacks least lacks
	Most     float64     `json:"most,omitempty"`
	Pods     int         `json:"pods"` // that wait
	Oldest   *time.Time  `json:"oldest,omitempty"`
	Jobs     []*explain.Finding
	Hidden   int // jobs that the viewer may not see by name
}

// Causes groups jobs that wait, those with the most jobs first.
func Causes(jobs []explain.Finding) []*Cause {
	type key struct {
		rule            report.Rule
		level, resource string
	}
	found := map[key]*Cause{}
	var all []*Cause
	for i := range jobs {
		f := &jobs[i]
		k, lacks := key{rule: f.Rule, level: f.Level}, 0.0
		k.resource, lacks = shortOf(f)
		c := found[k]
		if c == nil {
			c = &Cause{Rule: k.rule, Level: k.level, Resource: k.resource, Least: lacks}
			found[k] = c
			all = append(all, c)
		}
		c.Least, c.Most = min(c.Least, lacks), max(c.Most, lacks)
		c.Pods += f.Pods.Waiting
		if f.Since != nil && (c.Oldest == nil || f.Since.Time.Before(*c.Oldest)) {
			c.Oldest = &f.Since.Time
		}
		c.Jobs = append(c.Jobs, f)
	}
	slices.SortStableFunc(all, func(a, b *Cause) int {
		return cmp.Or(cmp.Compare(len(b.Jobs), len(a.Jobs)), cmp.Compare(a.Level, b.Level), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Rule, b.Rule))
	})
	return all
}

// shortOf is what a job lacks, and how much: of the cards of a list, one is enough.
func shortOf(f *explain.Finding) (resource string, lacks float64) {
	if f.Reason == nil || len(f.Reason.Shortages) == 0 {
		return "", 0
	}
	s := f.Reason.Shortages
	resource, lacks = s[0].Resource, s[0].Total-s[0].Bound
	if len(s) > 1 && f.Reason.Cards != "" {
		resource = f.Reason.Cards
	}
	for _, other := range s[1:] {
		if f.Reason.Cards != "" {
			lacks = min(lacks, other.Total-other.Bound)
		}
	}
	return resource, lacks
}
