package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/plugin"
)

// read makes a world of manifests, as cardctl does of files.
func read(t *testing.T, manifests []string, name, conf string) (*engine.World, *engine.Configuration) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input.yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(manifests, "\n---\n")), 0o600))
	objects, err := input.ReadFiles([]string{path}, false, nil, nil)
	require.NoError(t, err)
	require.Empty(t, objects.Problems)
	configuration, err := engine.Usual(name, objects.Queues)
	if conf != "" {
		configuration, err = engine.Configure(conf)
	}
	require.NoError(t, err)
	world, err := engine.Build(objects)
	require.NoError(t, err)
	return world, configuration
}

// configuration is one with arguments of the quota plugin, as YAML.
func configuration(name string, tree bool, arguments string, more ...string) string {
	text := fmt.Sprintf("actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: gang\n  - name: %s\n    enableHierarchy: %t\n    arguments: {%s}\n",
		name, tree, arguments)
	for _, each := range append(more, "predicates") {
		text += "  - name: " + each + "\n"
	}
	return text
}

// unlimited is capacity-card with no bound of cpu and memory where none is set.
func unlimited(tree bool, arguments ...string) string {
	return configuration(plugin.Name, tree, strings.Join(append(arguments, "unsetCapability: unlimited"), ", "))
}

// reclaiming is unlimited with the action reclaim.
func reclaiming(tree bool, arguments ...string) string {
	return strings.Replace(unlimited(tree, arguments...), "enqueue, allocate", "enqueue, allocate, reclaim", 1)
}

// node has whole cards of one model; without a product they have no name.
func node(name, product string, cards int) string {
	label := ""
	if product != "" {
		label = fmt.Sprintf("nvidia.com/gpu.product: %s", product)
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: Node
metadata: {name: %s, labels: {kubernetes.io/hostname: %[1]s, %s}}
status: {allocatable: {cpu: 64, memory: 256Gi, pods: 110, nvidia.com/gpu: %d}}`, name, label, cards)
}

// queue has a parent and card quotas, both "" for none, and more of its spec.
func queue(name, parent, quota, spec string) string {
	annotations := ""
	if quota != "" {
		annotations = fmt.Sprintf("volcano.sh/card.quota: '%s'", quota)
	}
	return fmt.Sprintf(`
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: %s, annotations: {%s}}
spec: {weight: 1, parent: "%s", %s}`, name, annotations, parent, spec)
}

// withAnnotation adds an annotation to a queue that has some.
func withAnnotation(queue, annotation string) string {
	return strings.Replace(queue, "annotations: {", "annotations: {"+annotation+", ", 1)
}

func closed(queue string) string { return queue + "\nstatus: {state: Closed}" }

// pods describes the pods of a job: the request of each pod as YAML, the card that they name, and more of their spec.
type pods struct {
	n, minimum       int
	limits, card     string
	request          string // card.request of the job
	spec             string
	node             string // of pods that run
	extraAnnotations string
}

func (p pods) annotations() string {
	var all []string
	if p.card != "" {
		all = append(all, fmt.Sprintf("volcano.sh/card.name: %q", p.card))
	}
	return strings.Join(append(all, strings.TrimPrefix(p.extraAnnotations, ", ")), ", ")
}

func (p pods) container() string {
	return fmt.Sprintf("containers: [{name: main, image: none, resources: {limits: {%s}}}], %s", p.limits, p.spec)
}

func job(name, queue string, p pods) string {
	annotations := ""
	if p.request != "" {
		annotations = fmt.Sprintf("volcano.sh/card.request: '%s'", p.request)
	}
	return fmt.Sprintf(`
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: %s, annotations: {%s}}
spec:
  queue: %s
  minAvailable: %d
  tasks:
  - {name: w, replicas: %d, template: {metadata: {annotations: {%s}}, spec: {%s}}}`,
		name, annotations, queue, p.minimum, p.n, p.annotations(), p.container())
}

func deployment(name, queue string, p pods) string {
	p.extraAnnotations = "scheduling.volcano.sh/queue-name: " + queue
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec: {replicas: %d, template: {metadata: {annotations: {%s}}, spec: {schedulerName: volcano, %s}}}`, name, p.n, p.annotations(), p.container())
}

// group is a PodGroup with pods, as a cluster has them: on a node or waiting.
func group(name, queue, phase string, p pods) string {
	text := fmt.Sprintf(`
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: %s}
spec: {queue: %s, minMember: %d, minResources: {cpu: %[3]d}}
status: {phase: %[4]s}`, name, queue, p.minimum, phase)
	podPhase := "Pending"
	if p.node != "" {
		podPhase = "Running"
	}
	p.extraAnnotations += ", scheduling.k8s.io/group-name: " + name
	for i := range p.n {
		text += fmt.Sprintf(`
---
apiVersion: v1
kind: Pod
metadata: {name: %s-%d, annotations: {%s}}
spec: {schedulerName: volcano, nodeName: "%s", %s}
status: {phase: %s}`, name, i, p.annotations(), p.node, p.container(), podPhase)
	}
	return text
}

// stray is a running pod that is none of Volcano's.
func stray(node, limits string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: stray}
spec: {schedulerName: default-scheduler, nodeName: %s, containers: [{name: main, image: none, resources: {limits: {%s}}}]}
status: {phase: Running}`, node, limits)
}
