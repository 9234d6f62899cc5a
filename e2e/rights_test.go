package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	rbac "k8s.io/api/rbac/v1"
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

// refused matches the complaint of a program that lacks a right, in its own words or in those of the API server.
func refused(r right) string {
	return fmt.Sprintf(`(no permission to|cannot) %s [^\n]*(?i:%s)`, r.verb, strings.TrimSuffix(r.resource, "s"))
}

// TestEachRightOfTheViewIsNeeded takes one verb on one resource away from the role of deploy/view at a time. The server then names
// what it may not do.
func TestEachRightOfTheViewIsNeeded(t *testing.T) {
	c := plane(t, "nodes.yaml")
	c.scheduleInstalled(t)
	c.queue(t, "research", `{"NVIDIA-H200": 3}`)
	guest := c.user(t, "guest", listing(listQueues, "nodes", "pods"), nil)
	rules := find[rbac.ClusterRole](t, render(t, "../deploy/view"), "ClusterRole").Rules
	for i, r := range rights(rules) {
		t.Run(r.String(), func(t *testing.T) {
			_, kubeconfig := layFor(t, c, c.user(t, fmt.Sprintf("view-%d", i), without(rules, r), nil))
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
