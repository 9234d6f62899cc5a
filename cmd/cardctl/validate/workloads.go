package validate

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// checkJobs finds minimums above the number of pods. Volcano's webhook refuses such jobs.
func (ck *checker) checkJobs() {
	for _, job := range ck.objects.Jobs {
		total := int64(0)
		for i, task := range job.Spec.Tasks {
			total += int64(task.Replicas)
			if task.MinAvailable != nil && *task.MinAvailable > task.Replicas {
				ck.report(Error, job, "Job", fmt.Sprintf("spec.tasks[%d].minAvailable", i),
					"%d is more than its %d replicas", *task.MinAvailable, task.Replicas)
			}
		}

		if int64(job.Spec.MinAvailable) > total {
			ck.report(Error, job, "Job", "spec.minAvailable",
				"%d is more than the %d replicas of its tasks", job.Spec.MinAvailable, total)
		}
	}
}

// checkSpec finds a queue without a spec. Volcano's webhook cannot complete it, and its controller never opens it.
func (ck *checker) checkSpec(q *scheduling.Queue) {
	neverOpened := q.UID != "" && q.Status.State == "" // in a cluster, which has no manifest
	isEmpty := equality.Semantic.DeepEqual(q.Spec, scheduling.QueueSpec{})
	if !ck.objects.Has(q, "spec") || neverOpened && isEmpty {
		ck.report(Warning, q, "Queue", "spec",
			"is missing: Volcano never opens the queue, which takes no jobs; set weight: 1, for example")
	}
}

// checkRequests parses the annotation that states the cards of a job before it has pods.
func (ck *checker) checkRequests() {
	for _, a := range ck.objects.Annotated() {
		ofJob := a.Field == "" && (a.Kind == "Job" || a.Kind == "PodGroup")
		text, given := a.Annotations[card.RequestKey]
		if !ofJob || !given {
			continue
		}

		_, problems := card.ParseRequest(text)
		for _, p := range problems {
			ck.report(Error, a.Object, a.Kind, annotation(card.RequestKey), "%s", p)
		}
	}
}

// checkWorkloads tries each job alone on the empty cluster. A job that is refused there, whatever windows of queues
// hold, is always refused.
func (ck *checker) checkWorkloads(ctx context.Context, c *engine.Configuration, world *engine.World) error {
	if len(ck.objects.Nodes) == 0 {
		return nil
	}

	sources := ck.workloads()
	findings, err := explain.Alone(ctx, world, c)
	if err != nil {
		return err
	}

	for i, f := range findings {
		object := cmp.Or(sources[f.Namespace+"/"+f.Owner], sources[f.Namespace+"/PodGroup/"+f.Name])
		canRun := f.Verdict != nil && f.Verdict.Kind == explain.Until
		if object == nil || canRun {
			continue
		}

		kind, _, _ := strings.Cut(f.Owner, "/")
		if f.Verdict == nil {
			ck.report(Warning, object, kind, "",
				"it cannot run, even alone, now and at the next %d times at which windows change: %s (%s)",
				explain.MostTimes, f.Message, f.Rule)
			continue
		}

		severity := Error
		what := "it cannot run, even alone"
		if f.Rule == report.ClosedQueue {
			severity = Warning // the queue can be opened
		}
		podGroup, is := sources[f.Namespace+"/PodGroup/"+f.Name].(*scheduling.PodGroup)
		if is && podGroup.Status.Phase == scheduling.PodGroupRunning { // it has lost pods since it started
			severity = Warning
			what = "it runs, and cannot start again, even alone"
		}
		issue := ck.report(severity, object, kind, "", what+": %s (%s)", f.Message, f.Rule)
		issue.Finding = &findings[i]
	}
	return nil
}

// workloads returns the objects that can be the owner of a job, by namespace/kind/name.
func (ck *checker) workloads() map[string]metav1.Object {
	all := map[string]metav1.Object{}
	for _, a := range ck.objects.Annotated() {
		all[a.Object.GetNamespace()+"/"+a.Kind+"/"+a.Object.GetName()] = a.Object
	}
	return all
}
