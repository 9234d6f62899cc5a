package chaos

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index"
)

// candidatesOfDeeds returns scenarios with one simpler deed.
func candidatesOfDeeds(s *Scenario) (all []*Scenario) {
	for i, a := range s.Acts {
		for _, simple := range a.Deed.simpler() {
			all = append(all, s.with(func(own *Scenario) { own.Acts[i].Deed = simple }))
		}
	}
	return all
}

func (d SubmitJob) simpler() (all []Deed) {
	add := func(change func(*JobSpec)) {
		own := d.JobSpec
		own.Pods = slices.Clone(own.Pods)
		change(&own)
		all = append(all, SubmitJob{own})
	}

	d.fewerPods(add)
	if d.Priority != 0 {
		add(func(j *JobSpec) { j.Priority = 0 })
	}

	if d.MinResources != nil {
		add(func(j *JobSpec) { j.MinResources = nil })
		for _, list := range without(d.MinResources) {
			add(func(j *JobSpec) { j.MinResources = list })
		}
	}

	if d.CardRequest != "" {
		add(func(j *JobSpec) { j.CardRequest = "" })
	}
	if d.Later {
		add(func(j *JobSpec) { j.Later = false })
	}
	for _, simple := range d.Whose.simpler() {
		add(func(j *JobSpec) { j.Whose = simple })
	}

	d.simplerPods(add)
	return all
}

// fewerPods adds jobs with fewer pods, and with a smaller minimum.
func (d SubmitJob) fewerPods(add func(change func(*JobSpec))) {
	if n := len(d.Pods); n > 1 {
		add(func(j *JobSpec) { j.Pods = j.Pods[:n/2] })
		add(func(j *JobSpec) { j.Pods = j.Pods[1:] })
		add(func(j *JobSpec) { j.Pods = j.Pods[:n-1] })
		add(func(j *JobSpec) {
			j.Pods = j.Pods[:n-1]
			j.MinMember--
		})
	}

	if d.MinMember > 1 {
		add(func(j *JobSpec) { j.MinMember = 1 })
		add(func(j *JobSpec) { j.MinMember-- })
	}
}

// simplerPods adds jobs with one simpler pod, and jobs with all pods like a simpler first one.
func (d SubmitJob) simplerPods(add func(change func(*JobSpec))) {
	for i, p := range d.Pods {
		for _, simple := range p.simpler() {
			add(func(j *JobSpec) { j.Pods[i] = simple })
			if i == 0 {
				add(func(j *JobSpec) {
					for k := range j.Pods {
						j.Pods[k] = simple
					}
				})
			}
		}
	}
}

func (p PodSpec) simpler() (all []PodSpec) {
	add := func(change func(*PodSpec)) {
		own := p
		change(&own)
		all = append(all, own)
	}

	for _, list := range without(p.Requests) {
		add(func(p *PodSpec) { p.Requests = list })
	}
	if names := strings.Split(p.Cards, "|"); len(names) > 1 {
		for i := range names {
			add(func(p *PodSpec) { p.Cards = strings.Join(slices.Delete(slices.Clone(names), i, i+1), "|") })
		}
	}

	for _, claims := range fewer(p.Claims) {
		add(func(p *PodSpec) { p.Claims = claims })
	}
	for _, shares := range fewer(p.Shares) {
		add(func(p *PodSpec) { p.Shares = shares })
	}

	if p.Kept {
		add(func(p *PodSpec) { p.Kept = false })
	}
	if p.Gated {
		add(func(p *PodSpec) { p.Gated = false })
	}
	for _, simple := range p.Whose.simpler() {
		add(func(p *PodSpec) { p.Whose = simple })
	}

	return all
}

func (o Whose) simpler() (all []Whose) {
	if len(o.Labels) > 0 {
		all = append(all, Whose{nil, o.User, o.Groups})
	}
	if o.User != "" {
		all = append(all, Whose{o.Labels, "", o.Groups})
	}
	if o.Groups != "" {
		all = append(all, Whose{o.Labels, o.User, ""})
	}

	return all
}

// fewer returns a list without one of its entries, for each of them.
func fewer(list string) (all []string) {
	if list == "" {
		return nil
	}

	entries := strings.Split(list, ",")
	for i := range entries {
		all = append(all, strings.Join(slices.Delete(slices.Clone(entries), i, i+1), ","))
	}

	return all
}

// without returns the list without one of its resources, for each of them.
func without(list workload.Resources) (all []workload.Resources) {
	for _, name := range keys(list) {
		own := maps.Clone(list)
		delete(own, name)
		all = append(all, own)
	}
	return all
}

func (d SetQueue) simpler() (all []Deed) {
	add := func(change func(*QueueSpec)) {
		own := d.QueueSpec
		own.Queue.Annotations = maps.Clone(own.Queue.Annotations)
		change(&own)
		all = append(all, SetQueue{own})
	}

	d.simplerBounds(add)
	if q := d.Queue; q.Priority != 0 {
		add(func(q *QueueSpec) { q.Priority = 0 })
	}
	if d.Queue.Weight != 1 {
		add(func(q *QueueSpec) { q.Weight = 1 })
	}
	if d.Queue.Closed {
		add(func(q *QueueSpec) { q.Closed = false })
	}
	if d.Unreclaimable {
		add(func(q *QueueSpec) { q.Unreclaimable = false })
	}
	if parent := d.Queue.Parent; parent != "" && parent != index.RootName {
		add(func(q *QueueSpec) { q.Parent = "" })
	}
	d.simplerAnnotations(add)
	return all
}

// simplerBounds adds queues without a bound, and without one resource of a bound.
func (d SetQueue) simplerBounds(add func(change func(*QueueSpec))) {
	for _, bound := range []func(*workload.Queue) *workload.Resources{
		func(q *workload.Queue) *workload.Resources { return &q.Capability },
		func(q *workload.Queue) *workload.Resources { return &q.Deserved },
		func(q *workload.Queue) *workload.Resources { return &q.Guarantee },
	} {
		list := *bound(&d.Queue)
		if list == nil {
			continue
		}

		add(func(q *QueueSpec) { *bound(&q.Queue) = nil })
		for _, less := range without(list) {
			add(func(q *QueueSpec) { *bound(&q.Queue) = less })
		}
	}
}

// simplerAnnotations adds queues without an annotation, and without one entry of an annotation that is a map.
func (d SetQueue) simplerAnnotations(add func(change func(*QueueSpec))) {
	for _, key := range keys(d.Queue.Annotations) {
		add(func(q *QueueSpec) { delete(q.Annotations, key) })

		var entries map[string]json.RawMessage
		if json.Unmarshal([]byte(d.Queue.Annotations[key]), &entries) != nil {
			continue
		}
		for _, name := range keys(entries) {
			less := maps.Clone(entries)
			delete(less, name)
			text, _ := json.Marshal(less)
			add(func(q *QueueSpec) { q.Annotations[key] = string(text) })
		}
	}
}

func (d SetNode) simpler() (all []Deed) {
	for _, list := range without(d.Node.Allocatable) {
		own := d.Node
		own.Allocatable = list
		all = append(all, SetNode{own})
	}

	for _, label := range keys(d.Node.Labels) {
		own := d.Node
		own.Labels = maps.Clone(own.Labels)
		delete(own.Labels, label)
		all = append(all, SetNode{own})
	}

	if d.Node.Annotations != nil {
		own := d.Node
		own.Annotations = nil
		all = append(all, SetNode{own})
	}

	return all
}

func (d FinishPod) simpler() []Deed {
	if d.Failed {
		return []Deed{FinishPod{d.Job, d.Pod, false}}
	}
	return nil
}

func (d RemoveJob) simpler() []Deed {
	if d.Orphans {
		return []Deed{RemoveJob{Job: d.Job}}
	}
	return nil
}
func (d ScaleJob) simpler() []Deed {
	if d.Pods > 0 {
		return []Deed{ScaleJob{d.Job, d.Pods - 1}}
	}
	return nil
}
func (d EditGroup) simpler() (all []Deed) {
	for _, list := range without(d.MinResources) {
		all = append(all, EditGroup{d.Job, d.MinMember, list})
	}
	return all
}
func (d OpenGates) simpler() []Deed   { return nil }
func (d DeleteQueue) simpler() []Deed { return nil }
func (d LoseNode) simpler() []Deed    { return nil }
func (d RemakeNode) simpler() []Deed  { return []Deed{LoseNode(d)} }
func (d ReplacePods) simpler() []Deed { return nil }
func (Restart) simpler() []Deed       { return nil }
func (d Leave) simpler() []Deed {
	if d.Cycles > 1 {
		return []Deed{Leave{d.Cycles - 1}}
	}
	return nil
}
func (d SetDevices) simpler() (all []Deed) {
	for i := range d.Cards {
		all = append(all, SetDevices{d.Node, slices.Delete(slices.Clone(d.Cards), i, i+1), d.Old})
	}
	return all
}
func (d MakeClaim) simpler() []Deed   { return nil }
func (d DeleteClaim) simpler() []Deed { return nil }
func (Renew) simpler() []Deed         { return nil }
func (d DeletePod) simpler() []Deed   { return nil }
func (d Wait) simpler() []Deed        { return nil }
func (d EditQueue) simpler() []Deed   { return nil }
func (d RelabelJob) simpler() (all []Deed) {
	for _, simple := range d.Whose.simpler() {
		all = append(all, RelabelJob{d.Job, simple})
	}
	return all
}
func (d AnnotateGroup) simpler() []Deed {
	if d.Value == "" {
		return nil
	}
	return []Deed{AnnotateGroup{d.Job, d.Key, ""}}
}
func (d AnnotatePod) simpler() []Deed {
	if d.Value == "" {
		return nil
	}
	return []Deed{AnnotatePod{d.Job, d.Pod, d.Key, ""}}
}
