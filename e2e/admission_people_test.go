package e2e

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	flow "volcano.sh/apis/pkg/apis/flow/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	vcclientset "volcano.sh/apis/pkg/client/clientset/versioned"

	"github.com/capacity-card/capacity-card/index/policy"
)

// person is a user that admission treats as a cluster administrator.
type person struct {
	kube    kubernetes.Interface
	volcano vcclientset.Interface
}

// as returns the clients of a user.
func (c *cluster) as(t *testing.T, name string, groups ...string) person {
	t.Helper()
	config := rest.CopyConfig(c.RestConfig)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: append(groups, "system:masters")}
	kube, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	volcano, err := vcclientset.NewForConfig(config)
	require.NoError(t, err)
	return person{kube, volcano}
}

// annotationsOf returns the annotations of a user and groups.
func annotationsOf(user, groups string) map[string]string {
	return map[string]string{policy.UserKey: user, policy.GroupsKey: groups}
}

// marks returns the annotations of an object that name its user and groups.
func marks(o *metav1.ObjectMeta) map[string]string {
	all := maps.Clone(o.Annotations)
	maps.DeleteFunc(all, func(key, _ string) bool { return key != policy.UserKey && key != policy.GroupsKey })
	return all
}

// people applies deploy/admission/people until the test ends, with the mutating objects or without them.
func (c *cluster) people(t *testing.T, mutating bool) {
	t.Helper()
	for _, object := range render(t, "../deploy/admission/people") {
		if mutating || !strings.HasPrefix(object.GetKind(), "Mutating") {
			c.send(t, []*unstructured.Unstructured{object}, "kubectl")
		}
	}
	forger := c.as(t, "forger")
	await := func(ctx context.Context, holds func(*corev1.Pod, error) bool) {
		require.NoError(t, wait.PollUntilContextTimeout(ctx, schedulePeriod, patience, true, func(ctx context.Context) (bool, error) {
			return holds(forger.pod(ctx, annotationsOf("someone", ""))), nil
		}))
	}
	t.Cleanup(func() {
		ctx, options := context.Background(), metav1.ListOptions{}
		beta, stable := c.Kube.AdmissionregistrationV1beta1(), c.Kube.AdmissionregistrationV1()
		require.NoError(t, beta.MutatingAdmissionPolicyBindings().DeleteCollection(ctx, metav1.DeleteOptions{}, options))
		require.NoError(t, beta.MutatingAdmissionPolicies().DeleteCollection(ctx, metav1.DeleteOptions{}, options))
		require.NoError(t, stable.ValidatingAdmissionPolicyBindings().DeleteCollection(ctx, metav1.DeleteOptions{}, options))
		require.NoError(t, stable.ValidatingAdmissionPolicies().DeleteCollection(ctx, metav1.DeleteOptions{}, options))
		await(ctx, func(pod *corev1.Pod, err error) bool {
			return err == nil && pod.Annotations[policy.UserKey] == "someone"
		})
	})
	await(t.Context(), func(pod *corev1.Pod, err error) bool {
		if mutating {
			_, late := forger.group(t.Context(), nil) // the API server reads the schemas of custom resources every 5 seconds
			return late == nil && err == nil && pod.Annotations[policy.UserKey] == "forger"
		}
		return err != nil
	})
}

// dry creates nothing.
var dry = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

// pod has the API server admit a pod, which it does not create.
func (p person) pod(ctx context.Context, annotations map[string]string) (*corev1.Pod, error) {
	return p.kube.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "admitted", Annotations: annotations},
		Spec: podOf().Spec}, dry)
}

// group is the same for a PodGroup.
func (p person) group(ctx context.Context, annotations map[string]string) (*scheduling.PodGroup, error) {
	return p.volcano.SchedulingV1beta1().PodGroups(metav1.NamespaceDefault).Create(ctx,
		&scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "admitted", Annotations: annotations}}, dry)
}

// podOf is a template of pods.
func podOf() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "admitted"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}}}
}

// TestAdmissionOfPeople has two users create and change objects under deploy/admission/people.
func TestAdmissionOfPeople(t *testing.T) {
	c := plane(t)
	c.people(t, true)
	ctx := t.Context()
	ann, bob := c.as(t, "ann", "research", "CN=a,OU=50%"), c.as(t, "bob")
	own := annotationsOf("ann", "research,CN=a%2COU=50%25")

	for _, forged := range []map[string]string{nil, annotationsOf("bob", "admins")} {
		pod, err := ann.pod(ctx, forged)
		require.NoError(t, err)
		assert.Equal(t, own, marks(&pod.ObjectMeta))
	}
	pod, err := bob.pod(ctx, annotationsOf("ann", "research"))
	require.NoError(t, err)
	assert.Equal(t, annotationsOf("bob", ""), marks(&pod.ObjectMeta))

	deployment := &apps.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "admitted"}, Spec: apps.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: podOf().Labels}, Template: podOf(), Replicas: new(int32)}}
	deployments := ann.kube.AppsV1().Deployments(metav1.NamespaceDefault)
	created, err := deployments.Create(ctx, deployment, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = c.Kube.AppsV1().Deployments(metav1.NamespaceDefault).Delete(context.Background(), "admitted", metav1.DeleteOptions{})
	})
	assert.Equal(t, own, marks(&created.ObjectMeta))
	assert.Equal(t, own, marks(&created.Spec.Template.ObjectMeta))

	var changed *apps.Deployment
	require.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error { // its controller updates it, too
		latest, err := deployments.Get(ctx, "admitted", metav1.GetOptions{})
		if err != nil {
			return err
		}
		latest.Annotations[policy.UserKey], latest.Spec.Template.Annotations = "bob", annotationsOf("bob", "")
		changed, err = bob.kube.AppsV1().Deployments(metav1.NamespaceDefault).Update(ctx, latest, metav1.UpdateOptions{})
		return err
	}))
	assert.Equal(t, own, marks(&changed.ObjectMeta), "it stays that of who created it")
	assert.Equal(t, own, marks(&changed.Spec.Template.ObjectMeta))

	cron, err := ann.kube.BatchV1().CronJobs(metav1.NamespaceDefault).Create(ctx, &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "admitted"},
		Spec: batchv1.CronJobSpec{Schedule: "@daily", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: never(podOf())}}}}, dry)
	require.NoError(t, err)
	assert.Equal(t, own, marks(&cron.Spec.JobTemplate.Spec.Template.ObjectMeta))

	group, err := ann.group(ctx, annotationsOf("bob", ""))
	require.NoError(t, err)
	assert.Equal(t, own, marks(&group.ObjectMeta))

	controller := c.as(t, "system:serviceaccount:kube-system:replicaset-controller", "system:serviceaccounts:kube-system")
	pod, err = controller.pod(ctx, own)
	require.NoError(t, err)
	assert.Equal(t, own, marks(&pod.ObjectMeta), "a pod of a template")
}

// never makes a template one that jobs can have.
func never(of corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	of.Spec.RestartPolicy = corev1.RestartPolicyNever
	return of
}

// TestAdmissionOfTemplates has two users write the annotations of others into what controllers copy to jobs and pods.
func TestAdmissionOfTemplates(t *testing.T) {
	c := plane(t)
	c.people(t, true)
	ctx := t.Context()
	ann, bob := c.as(t, "ann", "research"), c.as(t, "bob")
	controller := c.as(t, "system:serviceaccount:volcano-system:volcano-controllers", "system:serviceaccounts:volcano-system")
	own := annotationsOf("ann", "research")
	named := metav1.ObjectMeta{Name: "admitted"}
	forged := metav1.ObjectMeta{Annotations: annotationsOf("x1", "vision")}

	require.Eventually(t, func() bool {
		planned, err := ann.volcano.BatchV1alpha1().CronJobs(metav1.NamespaceDefault).Create(ctx, &batch.CronJob{ObjectMeta: named,
			Spec: batch.CronJobSpec{Schedule: "@daily", JobTemplate: batch.JobTemplateSpec{ObjectMeta: forged}}}, dry)
		return err == nil && maps.Equal(own, marks(&planned.ObjectMeta)) && maps.Equal(own, marks(&planned.Spec.JobTemplate.ObjectMeta))
	}, patience, schedulePeriod, "the jobs of a CronJob of Volcano get the annotations")

	template := podOf()
	template.Annotations = forged.Annotations
	replicated, err := ann.kube.CoreV1().ReplicationControllers(metav1.NamespaceDefault).Create(ctx, &corev1.ReplicationController{ObjectMeta: named,
		Spec: corev1.ReplicationControllerSpec{Selector: podOf().Labels, Template: &template}}, dry)
	require.NoError(t, err)
	assert.Equal(t, own, marks(&replicated.ObjectMeta))
	assert.Equal(t, own, marks(&replicated.Spec.Template.ObjectMeta))

	for _, each := range []struct {
		name   string
		create func(by person, annotations map[string]string) error
	}{
		{"Volcano job", func(by person, annotations map[string]string) error {
			_, err := by.volcano.BatchV1alpha1().Jobs(metav1.NamespaceDefault).Create(ctx, &batch.Job{ObjectMeta: named, Spec: tasksOf(annotations)}, dry)
			return err
		}},
		{"Volcano CronJob", func(by person, annotations map[string]string) error {
			_, err := by.volcano.BatchV1alpha1().CronJobs(metav1.NamespaceDefault).Create(ctx, &batch.CronJob{ObjectMeta: named,
				Spec: batch.CronJobSpec{Schedule: "@daily", JobTemplate: batch.JobTemplateSpec{Spec: tasksOf(annotations)}}}, dry)
			return err
		}},
		{"JobTemplate", func(by person, annotations map[string]string) error {
			_, err := by.volcano.FlowV1alpha1().JobTemplates(metav1.NamespaceDefault).Create(ctx, &flow.JobTemplate{ObjectMeta: named, Spec: tasksOf(annotations)}, dry)
			return err
		}},
		{"jobs of a CronJob", func(by person, annotations map[string]string) error {
			_, err := by.kube.BatchV1().CronJobs(metav1.NamespaceDefault).Create(ctx, &batchv1.CronJob{ObjectMeta: named, Spec: batchv1.CronJobSpec{Schedule: "@daily",
				JobTemplate: batchv1.JobTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Spec: batchv1.JobSpec{Template: never(podOf())}}}}, dry)
			return err
		}},
	} {
		t.Run(each.name, func(t *testing.T) {
			require.Eventually(t, func() bool { return each.create(ann, forged.Annotations) != nil }, patience, schedulePeriod)
			assert.ErrorContains(t, each.create(ann, map[string]string{policy.UserKey: "x1"}), "the annotation volcano.sh/user has to be ann")
			assert.ErrorContains(t, each.create(ann, map[string]string{policy.GroupsKey: "vision"}), "the annotation volcano.sh/groups has to be research")
			assert.ErrorContains(t, each.create(bob, map[string]string{policy.GroupsKey: "vision"}), "the annotation volcano.sh/groups has to be absent or empty")
			assert.NoError(t, each.create(ann, nil))
			assert.NoError(t, each.create(ann, own))
			assert.NoError(t, each.create(bob, annotationsOf("bob", "")))
			assert.NoError(t, each.create(controller, own))
		})
	}
}

// tasksOf is a job with pods that have no annotations, and with pods that have these.
func tasksOf(annotations map[string]string) batch.JobSpec {
	plain, annotated := podOf(), podOf()
	annotated.Annotations = annotations
	return batch.JobSpec{Tasks: []batch.TaskSpec{{Name: "plain", Replicas: 1, Template: plain}, {Name: "annotated", Replicas: 1, Template: annotated}}}
}

// TestAdmissionWithoutMutation has users write the annotations, where the API server does not.
func TestAdmissionWithoutMutation(t *testing.T) {
	c := plane(t)
	c.people(t, false)
	ctx := t.Context()
	ann := c.as(t, "ann", "research")
	_, err := ann.pod(ctx, nil)
	assert.ErrorContains(t, err, "the annotation volcano.sh/user has to be ann")
	_, err = ann.pod(ctx, annotationsOf("bob", "research"))
	assert.ErrorContains(t, err, "the annotation volcano.sh/user has to be ann")
	_, err = ann.pod(ctx, annotationsOf("ann", "admins"))
	assert.ErrorContains(t, err, "the annotation volcano.sh/groups has to be research")
	_, err = ann.pod(ctx, annotationsOf("ann", "research"))
	assert.NoError(t, err)
}
