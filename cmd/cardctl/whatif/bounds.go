package whatif

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index/card"
)

// Bounds limit the objects that a change adds, and so the memory of a simulation.
type Bounds struct {
	Pods    engine.Load
	Objects int // other than pods
	Names   int // of resources and cards: each queue of the cluster has an amount of each
}

// Check returns why objects are not to be simulated, nil if they are.
func (b Bounds) Check(add *input.Objects) error {
	pods := engine.Load{Pods: int64(len(add.Pods))}
	for _, d := range add.Deployments {
		pods.AddDeployment(d)
	}
	for _, job := range add.Jobs {
		pods.AddJob(job)
	}

	objects := add.Len() + len(add.ConfigMaps) - len(add.Pods)
	named := namesOf(add).Len()

	switch {
	case len(add.Problems) > 0:
		return ManifestError{add.Problems[0]}
	case pods.Pods > b.Pods.Pods:
		return fmt.Errorf("the manifest has %d pods; at most %d are simulated", pods.Pods, b.Pods.Pods)
	case pods.Bytes > b.Pods.Bytes:
		return fmt.Errorf("the templates of all pods have %d MiB; at most %d are simulated",
			pods.Bytes>>20, b.Pods.Bytes>>20)
	case objects > b.Objects:
		return fmt.Errorf("the manifest has %d objects other than pods; at most %d are simulated", objects, b.Objects)
	case named > b.Names:
		return fmt.Errorf("the manifest names %d resources and cards; at most %d are simulated", named, b.Names)
	}
	return nil
}

// names are the names of resources and cards.
type names struct{ sets.Set[string] }

// namesOf returns the resources and cards that objects name.
func namesOf(o *input.Objects) names {
	all := names{sets.New[string]()}
	for _, node := range o.Nodes {
		all.add(node.Status.Allocatable, node.Status.Capacity)
		for _, c := range card.OnNode(node, nil).Cards {
			all.Insert(c.Name)
		}
	}

	for _, slice := range o.ResourceSlices {
		for i := range slice.Spec.Devices {
			name, _ := card.Attributes(nil).OfDevice(slice.Spec.Driver, &slice.Spec.Devices[i])
			if name != "" {
				all.Insert(name)
			}
		}
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
			n.Insert(string(name))
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
	n.Insert(card.NameOf(annotations)...)
}

// addQuota adds the keys of a JSON annotation of a queue. The values do not matter.
func (n names) addQuota(text string) {
	entries, problems := card.ParseQuota(text)
	for _, e := range entries {
		n.Insert(e.Name)
	}
	for _, p := range problems {
		n.Insert(p.Key)
	}
}

// addRequest adds the cards that a job states before it has pods.
func (n names) addRequest(annotations map[string]string) {
	requests, _ := card.ParseRequest(annotations[card.RequestKey])
	for _, r := range requests {
		n.Insert(r.List...)
	}
}
