package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// right is one verb on one resource.
type right struct{ group, resource, verb string }

func (r right) String() string { return r.verb + " " + r.resource }

// rights are all that rules permit.
func rights(rules []rbac.PolicyRule) (all []right) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, right{group, resource, verb})
				}
			}
		}
	}
	return all
}

// without returns rules that do not permit one right.
func without(rules []rbac.PolicyRule, r right) (left []rbac.PolicyRule) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				verbs := slices.Clone(rule.Verbs)
				if group == r.group && resource == r.resource {
					verbs = slices.DeleteFunc(verbs, func(verb string) bool { return verb == r.verb })
				}
				if len(verbs) > 0 {
					left = append(left, rbac.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs, ResourceNames: rule.ResourceNames})
				}
			}
		}
	}
	return left
}

// refused is what a program says that lacks a right: its own words, or those of the API server.
func refused(r right) string {
	return fmt.Sprintf(`(no permission to|cannot) %s [^\n]*(?i:%s)`, r.verb, strings.TrimSuffix(r.resource, "s"))
}

// account creates a service account with rules in the whole cluster, and returns its token.
func (c *cluster) account(t *testing.T, name string, rules []rbac.PolicyRule) string {
	t.Helper()
	ctx, of := t.Context(), metav1.ObjectMeta{Name: name}
	_, err := c.Kube.CoreV1().ServiceAccounts(c.namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: of}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.Kube.RbacV1().ClusterRoles().Create(ctx, &rbac.ClusterRole{ObjectMeta: of, Rules: rules}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.Kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbac.ClusterRoleBinding{ObjectMeta: of,
		Subjects: []rbac.Subject{{Kind: "ServiceAccount", Name: name, Namespace: c.namespace}},
		RoleRef:  rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Kube.RbacV1().ClusterRoleBindings().Delete(context.Background(), name, metav1.DeleteOptions{}))
		require.NoError(t, c.Kube.RbacV1().ClusterRoles().Delete(context.Background(), name, metav1.DeleteOptions{}))
	})
	return c.token(t, c.namespace, name)
}

// TestEachRightOfTheViewIsNeeded takes one verb on one resource away from the role of deploy/view at a time. The server then names
// what it may not do.
func TestEachRightOfTheViewIsNeeded(t *testing.T) {
	c := plane(t, "nodes.yaml")
	install(t, c)
	c.send(t, render(t, "../deploy/cards"), "kubectl")
	var err error
	c.stopScheduler, err = c.StartInstalledScheduler(t.Context())
	require.NoError(t, err)
	c.queue(t, "research", `{"NVIDIA-H200": 3}`)
	guest := c.user(t, "guest", listing(listQueues, "nodes", "pods"), nil)
	rules := find[rbac.ClusterRole](t, render(t, "../deploy/view"), "ClusterRole").Rules
	for i, r := range rights(rules) {
		t.Run(r.String(), func(t *testing.T) {
			_, kubeconfig := layFor(t, c, c.account(t, fmt.Sprintf("view-%d", i), without(rules, r)))
			p := servePages(t, "--authenticate", "--kubeconfig", kubeconfig)
			eventually(t, func(collect *assert.CollectT) {
				said := p.log(t)
				for _, path := range []string{"/health", "/queues", "/lending"} {
					_, text, err := p.get(path, guest)
					assert.NoError(collect, err)
					said += text
				}
				assert.Regexp(collect, refused(r), said)
			})
		})
	}
}
