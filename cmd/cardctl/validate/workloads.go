package validate

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// checkRequests parses the annotation in which jobs state what they request.
func (k *checker) checkRequests() {
	check := func(object metav1.Object, kind string) {
		text, given := object.GetAnnotations()[card.RequestKey]
		if !given {
			return
		}
		_, problems := card.ParseRequest(text)
		for _, p := range problems {
			k.report(Error, object, kind, annotation(card.RequestKey), "%s", p)
		}
	}
	for _, job := range k.objects.Jobs {
		check(job, "Job")
	}
	for _, podGroup := range k.objects.PodGroups {
		check(podGroup, "PodGroup")
	}
}

// checkWorkloads tries each job alone on the empty cluster. A job that is refused there
// is always refused.
func (k *checker) checkWorkloads(c *engine.Configuration) error {
	if len(k.objects.Nodes) == 0 {
		return nil
	}
	sources := map[string]metav1.Object{}
	for _, job := range k.objects.Jobs {
		sources[job.Namespace+"/Job/"+job.Name] = job
	}
	for _, d := range k.objects.Deployments {
		sources[d.Namespace+"/Deployment/"+d.Name] = d
	}
	for _, pod := range k.objects.Pods {
		sources[pod.Namespace+"/Pod/"+pod.Name] = pod
	}
	for _, podGroup := range k.objects.PodGroups {
		sources[podGroup.Namespace+"/PodGroup/"+podGroup.Name] = podGroup
	}
	world, err := engine.Build(k.objects)
	if err != nil {
		return err
	}
	for _, f := range explain.Alone(world, c) {
		object, known := sources[f.Namespace+"/"+f.Owner]
		if !known {
			if object, known = sources[f.Namespace+"/PodGroup/"+f.Name]; !known {
				continue
			}
		}
		severity := Error
		if f.Rule == report.ClosedQueue {
			severity = Warning // the queue can be opened
		}
		kind, _, _ := strings.Cut(f.Owner, "/")
		k.report(severity, object, kind, "", "it cannot run, even alone: %s (%s)", f.Message, f.Rule)
	}
	return nil
}
