package torture

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/history/check"
)

// The cards of the nodes, and the label and the resource that they have.
const (
	h200    = "NVIDIA-H200"
	h800    = "NVIDIA-H800"
	rtx4090 = "NVIDIA-GeForce-RTX-4090"

	product = "nvidia.com/gpu.product"
	gpu     = corev1.ResourceName("nvidia.com/gpu")

	// slice is the resource of nodes with divided cards, as with MIG in the mixed strategy.
	slice = corev1.ResourceName("nvidia.com/mig-3g.71gb")
)

var models = []string{h200, h800, rtx4090}

// sliceOf returns the name of a slice of a model.
func sliceOf(model string) string { return model + "/mig-3g.71gb-mixed" }

// namespaces are the namespaces of the tenants.
var namespaces = []string{"torture-a", "torture-b"}

// world holds the initial objects of a round.
type world struct {
	plugin string
	// plain worlds have bounds of resources, and none of cards.
	plain  bool
	tree   bool
	groups map[string]map[string]string
	nodes  []*corev1.Node
	// queues are the leaf queues, and inner are their parents.
	queues, inner []string
	// parents maps each queue to its parent.
	parents map[string]string
}

func quantity(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) }

// drawWorld draws nodes, queues and a configuration.
func drawWorld(draw *rand.Rand, plugin string) world {
	w := world{plugin: plugin, plain: plugin == "proportion", parents: map[string]string{}}
	w.tree = draw.IntN(2) == 0 && !w.plain
	if draw.IntN(4) == 0 && !w.plain {
		w.groups = map[string]map[string]string{"hopper": {h200: "1", h800: "1"}}
	}

	for i := range 5 {
		model := models[min(i/2, 2)]
		w.nodes = append(w.nodes, newNode(fmt.Sprintf("torture-%d", i), model, []int64{4, 4, 8}[draw.IntN(3)]))
	}

	for i := range 4 {
		name := fmt.Sprintf("q%d", i)
		w.queues = append(w.queues, name)
		if w.tree {
			w.parents[name] = []string{"eng", "biz"}[i/2]
		}
	}
	if w.tree {
		w.inner = []string{"eng", "biz"}
		w.parents["eng"] = "root"
		w.parents["biz"] = "root"
	}

	return w
}

func newNode(name, model string, cards int64) *corev1.Node {
	has := corev1.ResourceList{
		corev1.ResourceCPU:    quantity(64),
		corev1.ResourceMemory: resource.MustParse("512Gi"),
		corev1.ResourcePods:   quantity(110),
		gpu:                   quantity(cards),
	}

	labels := map[string]string{corev1.LabelHostname: name, product: model}

	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Status: corev1.NodeStatus{
			Capacity:    has,
			Allocatable: has,
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// configuration returns the volcano-scheduler.conf.
func (w world) configuration() string {
	var arguments strings.Builder
	if w.groups != nil {
		arguments.WriteString("      cardGroups:\n")
		for _, name := range slices.Sorted(maps.Keys(w.groups)) {
			fmt.Fprintf(&arguments, "        %s: {", name)
			for i, each := range slices.Sorted(maps.Keys(w.groups[name])) {
				if i > 0 {
					arguments.WriteString(", ")
				}
				fmt.Fprintf(&arguments, "%s: %s", each, w.groups[name][each])
			}
			arguments.WriteString("}\n")
		}
	}
	return fmt.Sprintf(`actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
  - name: %s
    enableHierarchy: %t
    arguments:
      cardUnlimitedCpuMemory: true
      unsetCapability: unlimited
      terminatingCards: hold
      nodeOrderWeight: 10
%s- plugins:
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: nodeorder
  - name: binpack
`, w.plugin, w.tree, arguments.String())
}

// stated returns the configuration for the checker.
func (w world) stated() string {
	text, _ := json.Marshal(check.Configuration{Plugin: w.plugin, Plain: w.plain, Hierarchy: w.tree, Groups: w.groups})
	return string(text)
}

// drawBounds draws the annotations and the spec of a leaf queue or an inner one. nil removes an annotation.
func (w world) drawBounds(draw *rand.Rand, inner bool) (annotations, spec map[string]any) {
	if w.plain {
		return nil, map[string]any{"weight": 1 + draw.IntN(4), "capability": map[corev1.ResourceName]string{
			gpu: fmt.Sprint(4 + draw.IntN(12)), slice: fmt.Sprint(4 + draw.IntN(8)),
		}}
	}

	quota := map[string]int{}
	deserved := map[string]int{}
	guarantee := map[string]int{}
	namespace := map[string]int{}
	for _, model := range models {
		most := 3 + draw.IntN(8)
		if inner {
			most += 4
		}
		quota[model] = most

		guarantee[model] = 0
		if draw.IntN(4) == 0 {
			guarantee[model] = 1 + draw.IntN(2)
		}
		deserved[model] = max(guarantee[model], min(most, draw.IntN(6)))
		if draw.IntN(4) == 0 {
			namespace[model] = 1 + draw.IntN(4)
		}
	}
	for _, model := range models[:2] {
		quota[sliceOf(model)] = 4 + draw.IntN(8)
		guarantee[sliceOf(model)] = 0
	}
	if w.groups != nil && draw.IntN(2) == 0 {
		quota["@hopper"] = 2 + draw.IntN(8)
		guarantee["@hopper"] = 0
	}

	annotations = map[string]any{
		"volcano.sh/card.quota":     text(quota),
		"volcano.sh/card.deserved":  text(deserved),
		"volcano.sh/card.guarantee": text(guarantee),
		"volcano.sh/card.quota.by":  nil,
	}
	if len(namespace) > 0 {
		annotations["volcano.sh/card.quota.by"] = `{"namespace":{"*":` + text(namespace) + "}}"
	}

	return annotations, nil
}

func text(value map[string]int) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// badValues are wrong texts of annotations.
var badValues = []string{
	`{"NVIDIA-H200": 3`, `{"NVIDIA-H200": -1}`, `{"NVIDIA-H200": 1.5, "NVIDIA-H800": 2}`, `{"NVIDIA-H200": "2"}`,
	`[]`, ``, `{"": 1}`, `{"A|B": 1}`,
}

func newQueue(name, parent string) *scheduling.Queue {
	return &scheduling.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       scheduling.QueueSpec{Weight: 1, Parent: parent},
	}
}

// drawJob draws a job: a gang or not, with pods of one size. The pods run on one card, on either of two, or on slices
// of one card. They run forever, or for some seconds.
func drawJob(draw *rand.Rand, name, queue string) *batch.Job {
	list := models[draw.IntN(len(models))]
	if draw.IntN(4) == 0 {
		other := models[draw.IntN(len(models))]
		if other != list {
			list += "|" + other
		}
	}
	resource := gpu
	if draw.IntN(8) == 0 {
		list = sliceOf(models[draw.IntN(2)])
		resource = slice
	}

	cards := []int64{1, 1, 2}[draw.IntN(3)]
	replicas := int32(1 + draw.IntN(5))
	minimum := int32(1)
	if draw.IntN(5) < 2 {
		minimum = replicas
	}

	container := corev1.Container{Name: "main", Image: "nginx", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: quantity(1), resource: quantity(cards)},
		Limits:   corev1.ResourceList{resource: quantity(cards)},
	}}
	if draw.IntN(3) == 0 {
		container.Command = []string{"sleep", fmt.Sprint(1 + draw.IntN(6))}
	}

	pod := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{container}}

	job := &batch.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespaces[draw.IntN(len(namespaces))]}}
	job.Spec = batch.JobSpec{
		SchedulerName: "volcano",
		Queue:         queue,
		MinAvailable:  minimum,
		MaxRetry:      3,
		Tasks: []batch.TaskSpec{{Name: "worker", Replicas: replicas, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"volcano.sh/card.name": list}},
			Spec:       pod,
		}}},
	}
	if draw.IntN(3) == 0 {
		request := text(map[string]int{list: int(cards) * int(minimum)})
		job.Annotations = map[string]string{"volcano.sh/card.request": request}
	}

	return job
}
