package serve

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/whatif"
	"github.com/capacity-card/capacity-card/index/card"
)

// The bounds of a form, which keep the memory of a simulation within some hundred MiB. input.Parse
// bounds the text itself.
const (
	formBytes     = 1 << 20
	mostChanges   = 100
	mostPods      = 10_000
	mostTemplates = 32 << 20 // bytes, once for each pod
	mostObjects   = 1000     // other than pods: a tree of queues needs the square of its depth
	mostNames     = 200      // of resources and cards: each queue of the cluster has an amount of each
)

// bounded returns why the objects to add are not simulated, nil if they are.
func bounded(add *input.Objects) error {
	load := engine.Load{Pods: int64(len(add.Pods))}
	for _, d := range add.Deployments {
		load.AddDeployment(d)
	}
	for _, job := range add.Jobs {
		load.AddJob(job)
	}
	switch objects, named := add.Len()+len(add.ConfigMaps)-len(add.Pods), len(namesOf(add)); {
	case len(add.Problems) > 0:
		return whatif.ManifestError{Problem: add.Problems[0]}
	case load.Pods > mostPods:
		return fmt.Errorf("the manifest has %d pods; at most %d are simulated", load.Pods, mostPods)
	case load.Bytes > mostTemplates:
		return fmt.Errorf("the templates of all pods have %d MiB; at most %d are simulated", load.Bytes>>20, mostTemplates>>20)
	case objects > mostObjects:
		return fmt.Errorf("the manifest has %d objects beside pods; at most %d are simulated", objects, mostObjects)
	case named > mostNames:
		return fmt.Errorf("the manifest names %d resources and cards; at most %d are simulated", named, mostNames)
	}
	return nil
}

// names are those of resources and cards.
type names map[string]bool

// namesOf returns the resources and cards that objects name.
func namesOf(o *input.Objects) names {
	all := names{}
	for _, node := range o.Nodes {
		all.add(node.Status.Allocatable, node.Status.Capacity)
	}
	for _, q := range o.Queues {
		all.add(q.Spec.Capability, q.Spec.Deserved, q.Spec.Guarantee.Resource)
		for _, text := range q.Annotations {
			all.addQuota(text)
		}
	}
	for _, g := range o.PodGroups {
		if g.Spec.MinResources != nil {
			all.add(*g.Spec.MinResources)
		}
		all.addRequest(g.Annotations)
	}
	for _, pod := range o.Pods {
		all.addPod(pod.Annotations, &pod.Spec)
	}
	for _, d := range o.Deployments {
		all.addPod(d.Spec.Template.Annotations, &d.Spec.Template.Spec)
	}
	for _, job := range o.Jobs {
		all.addRequest(job.Annotations)
		for i := range job.Spec.Tasks {
			template := &job.Spec.Tasks[i].Template
			all.addPod(template.Annotations, &template.Spec)
		}
	}
	return all
}

func (n names) add(lists ...v1.ResourceList) {
	for _, list := range lists {
		for name := range list {
			n[string(name)] = true
		}
	}
}

func (n names) addPod(annotations map[string]string, spec *v1.PodSpec) {
	n.add(spec.Overhead)
	if spec.Resources != nil {
		n.add(spec.Resources.Requests, spec.Resources.Limits)
	}
	for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			n.add(containers[i].Resources.Requests, containers[i].Resources.Limits)
		}
	}
	for _, name := range card.NameOf(annotations) {
		n[name] = true
	}
}

// addQuota adds the keys of a JSON annotation of a queue, whatever their values are.
func (n names) addQuota(text string) {
	entries, problems := card.ParseQuota(text)
	for _, e := range entries {
		n[e.Name] = true
	}
	for _, p := range problems {
		n[p.Key] = true
	}
}

// addRequest adds the cards that a job states.
func (n names) addRequest(annotations map[string]string) {
	requests, _ := card.ParseRequest(annotations[card.RequestKey])
	for _, r := range requests {
		for _, name := range r.List {
			n[name] = true
		}
	}
}
