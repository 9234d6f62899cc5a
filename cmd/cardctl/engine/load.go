package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// Load counts the pods of workloads and the bytes of their templates. A template counts once for each pod. Sums
// saturate.
type Load struct{ Pods, Bytes int64 }

// mostMade bounds the pods that a world makes for workloads without pods. Users choose these numbers, and no cluster
// had to hold the pods yet.
var mostMade = Load{Pods: 100_000, Bytes: 512 << 20}

// LeftOut is a workload without pods in a world, because there would be too many.
type LeftOut struct {
	Kind string
	metav1.Object
	Pods int64
}

// Problem describes the problem without the name of the workload.
func (l LeftOut) Problem() string {
	return fmt.Sprintf("its %d pods are left out: cardctl makes at most %d pods of workloads that have none yet, "+
		"of %d MiB with their templates, and leaves out the largest workloads first",
		l.Pods, mostMade.Pods, mostMade.Bytes>>20)
}

// String names the workload and describes the problem.
func (l LeftOut) String() string {
	return fmt.Sprintf("%s %s/%s: %s", l.Kind, l.GetNamespace(), l.GetName(), l.Problem())
}

// AddDeployment adds the pods of a Deployment.
func (l *Load) AddDeployment(d *appsv1.Deployment) { l.add(replicasOf(d), &d.Spec.Template) }

// AddJob adds the pods of a job, at least its minimum. Volcano adds up the requests of the minimum pod by pod.
func (l *Load) AddJob(job *batch.Job) {
	for i := range job.Spec.Tasks {
		task := &job.Spec.Tasks[i]
		n := task.Replicas
		if task.MinAvailable != nil {
			n = max(n, *task.MinAvailable)
		}
		l.add(n, &task.Template)
	}
}

func (l *Load) add(n int32, template *v1.PodTemplateSpec) {
	pods := max(0, int64(n))
	l.Pods = plus(l.Pods, pods)
	l.Bytes = plus(l.Bytes, pods*int64(template.Size()))
}

// Exceeds reports whether a load has more pods or more bytes than another one.
func (l Load) Exceeds(most Load) bool { return l.Pods > most.Pods || l.Bytes > most.Bytes }

// plus adds numbers that are not negative.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// replicasOf returns the number of pods of a Deployment. The default is one.
func replicasOf(d *appsv1.Deployment) int32 { return max(0, ptr.Deref(d.Spec.Replicas, 1)) }

// sum adds numbers of pods of a job. It saturates.
func sum(a, b int32) int32 {
	return int32(max(math.MinInt32, min(math.MaxInt32, int64(a)+int64(b))))
}

// leaveOut leaves out the largest workloads, as many as exceed the bound.
func (w *workloads) leaveOut(deployments []*appsv1.Deployment, jobs []*batch.Job) {
	type candidate struct {
		LeftOut
		load Load
	}
	var all []candidate
	for _, d := range deployments {
		c := candidate{LeftOut: LeftOut{Kind: "Deployment", Object: d}}
		if isMade(d) {
			c.load.AddDeployment(d)
			all = append(all, c)
		}
	}
	for _, job := range jobs {
		c := candidate{LeftOut: LeftOut{Kind: "Job", Object: job}}
		g := w.groupOf(job)
		if g == nil || len(g.Pods) == 0 && !hasEnded(job) {
			c.load.AddJob(job)
			all = append(all, c)
		}
	}

	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.load.Pods, b.load.Pods), cmp.Compare(a.load.Bytes, b.load.Bytes))
	})

	var total Load
	for _, c := range all {
		total = Load{plus(total.Pods, c.load.Pods), plus(total.Bytes, c.load.Bytes)}
		if total.Exceeds(mostMade) {
			c.Pods = c.load.Pods
			w.LeftOut = append(w.LeftOut, c.LeftOut)
			w.out[c.Object] = true
		}
	}
}
