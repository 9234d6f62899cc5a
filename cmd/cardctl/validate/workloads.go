package validate

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// checkRequests parses the annotation in which jobs state what they request.
func (ck *checker) checkRequests() {
	check := func(object metav1.Object, kind string) {
		text, given := object.GetAnnotations()[card.RequestKey]
		if !given {
			return
		}
		_, problems := card.ParseRequest(text)
		for _, p := range problems {
			ck.report(Error, object, kind, annotation(card.RequestKey), "%s", p)
		}
	}
	for _, job := range ck.objects.Jobs {
		check(job, "Job")
	}
	for _, podGroup := range ck.objects.PodGroups {
		check(podGroup, "PodGroup")
	}
}

// checkWorkloads tries each job alone on the empty cluster. A job that is refused there
// is always refused.
func (ck *checker) checkWorkloads(ctx context.Context, c *engine.Configuration, world *engine.World) error {
	if len(ck.objects.Nodes) == 0 {
		return nil
	}
	sources := map[string]metav1.Object{}
	for _, job := range ck.objects.Jobs {
		sources[job.Namespace+"/Job/"+job.Name] = job
	}
	for _, d := range ck.objects.Deployments {
		sources[d.Namespace+"/Deployment/"+d.Name] = d
	}
	for _, pod := range ck.objects.Pods {
		sources[pod.Namespace+"/Pod/"+pod.Name] = pod
	}
	for _, podGroup := range ck.objects.PodGroups {
		sources[podGroup.Namespace+"/PodGroup/"+podGroup.Name] = podGroup
	}
	findings, err := explain.Alone(ctx, world, c)
	if err != nil {
		return err
	}
	for _, f := range findings {
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
		ck.report(severity, object, kind, "", "it cannot run, even alone: %s (%s)", f.Message, f.Rule)
	}
	return nil
}
