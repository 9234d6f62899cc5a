package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
)

// gpu is the resource of cards that name no other.
const gpu = "nvidia.com/gpu"

// defaultNode has the resources of a node that states nothing but its cards.
var defaultNode = workload.Resources{"cpu": 64000, "memory": 256 << 30, "pods": 100}

// ParseDeed reads the command of a deed.
func ParseDeed(line string) (Deed, error) {
	all, err := fields(line)
	if err != nil || len(all) == 0 {
		return nil, fmt.Errorf("no command: %q: %w", line, err)
	}

	w := &words{command: all[0], rest: all[1:]}
	d := w.deed()
	if w.err == nil && len(w.rest) > 0 {
		w.fail("has too many words: %s", strings.Join(w.rest, " "))
	}

	return d, w.err
}

func (w *words) deed() Deed {
	switch w.command {
	case "node":
		return SetNode{w.node()}
	case "queue":
		return SetQueue{w.queue()}
	case "edit-queue":
		return w.editQueue()
	case "job":
		return SubmitJob{w.job()}
	case "delete-job":
		d := RemoveJob{Job: w.next("a job")}
		w.each(func(key, value string) bool {
			if key == "orphans" {
				d.Orphans = w.flag(value)
			}
			return key == "orphans"
		})
		return d
	case "scale":
		return ScaleJob{w.next("a job"), int(w.number(w.next("a number of pods")))}
	case "succeed", "fail":
		job, pod := w.pod()
		return FinishPod{job, pod, w.command == "fail"}
	case "delete-pod":
		job, pod := w.pod()
		return DeletePod{job, pod}
	case "open-gates":
		return OpenGates{w.next("a job")}
	case "annotate-pod", "annotate-job":
		return w.annotation()
	case "edit-job":
		return w.edit()
	case "relabel":
		d := RelabelJob{Job: w.next("a job")}
		w.each(func(key, value string) bool { return w.ofWhose(&d.Whose, key, value) })
		return d
	case "delete-queue":
		return DeleteQueue{w.next("a queue")}
	case "lose-node":
		return LoseNode{w.next("a node")}
	case "remake-node":
		return RemakeNode{w.next("a node")}
	case "replace-pods":
		return ReplacePods{w.next("a node")}
	case "devices", "claim", "delete-claim":
		return w.ofDevices()
	case "restart":
		return Restart{}
	case "leave":
		return Leave{int(w.number(w.next("a number of cycles")))}
	case "renew":
		return Renew{}
	case "wait":
		return Wait{w.duration(w.next("a time"))}
	}

	w.fail("is no command")
	return nil
}

// annotation reads the annotation of a pod or of a PodGroup.
func (w *words) annotation() Deed {
	var d AnnotatePod
	if w.command == "annotate-pod" {
		d.Job, d.Pod = w.pod()
	} else {
		d.Job = w.next("a job")
	}

	d.Key, d.Value, _ = strings.Cut(w.next("an annotation"), "=")
	if w.command == "annotate-pod" {
		return d
	}

	return AnnotateGroup{d.Job, d.Key, d.Value}
}

// pod reads the name of a pod, such as llm-2.
func (w *words) pod() (job string, number int) {
	name := w.next("a pod")
	at := strings.LastIndex(name, "-")
	if at < 0 {
		w.fail("%s is no pod, such as llm-2", name)
		return "", 0
	}
	return name[:at], int(w.number(name[at+1:]))
}

func (w *words) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		w.fail("%v", err)
	}
	return d
}

func (w *words) node() workload.Node {
	n := workload.Node{Name: w.next("a name"), Allocatable: defaultNode.Clone()}

	product := ""
	cards := workload.Resources{}
	shared := workload.Resources{}
	w.each(func(key, value string) bool {
		switch key {
		case "cards":
			names, values, err := pairs(value)
			if err != nil || len(names) != 1 {
				w.fail("%s is no card and its number, such as A:8", value)
				return true
			}
			product = names[0]
			cards[gpu] = w.number(values[0])
		case "shares":
			w.shares(&n, shared, value)
		case "register":
			n.Annotations = map[string]string{vgpu.Register: value}
		case "has":
			n.Allocatable = w.resources(value)
		case "labels":
			n.Labels = w.labels(value)
		default:
			return false
		}
		return true
	})

	maps.Copy(n.Allocatable, cards)
	maps.Copy(n.Allocatable, shared)

	if product != "" {
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[workload.ProductLabel] = product
	}

	return n
}

// String is the command that adds the node.
func (d SetNode) String() string {
	text := "node " + d.Name
	has := d.Allocatable.Clone()
	labels := maps.Clone(d.Labels)
	if product, n := labels[workload.ProductLabel], has[gpu]; product != "" && has != nil && n > 0 {
		text += fmt.Sprintf(" cards=%s:%d", product, n)
		delete(has, gpu)
		delete(labels, workload.ProductLabel)
	}

	if !maps.Equal(has, defaultNode) {
		text += field("has", resourceText(has))
	}
	if len(labels) > 0 {
		text += field("labels", labelText(labels))
	}
	if registered, has := d.Annotations[vgpu.Register]; has {
		text += field("register", registered)
	}

	return text
}

// ofCards are the card annotations of queues, by word.
var ofCards = map[string]string{"quota": card.QuotaKey, "deserved": card.DeservedKey, "guarantee": card.GuaranteeKey}

const prefix = "volcano.sh/"

func (w *words) queue() QueueSpec {
	q := QueueSpec{Queue: workload.Queue{Name: w.next("a name")}}
	w.ofQueue(&q)
	return q
}

// ofQueue reads the words about a queue. An annotation without a value is removed.
func (w *words) ofQueue(q *QueueSpec) {
	w.each(func(key, value string) bool {
		switch key {
		case "parent":
			q.Parent = value
		case "weight":
			q.Weight = int32(w.number(value))
		case "priority":
			q.Priority = int32(w.number(value))
		case "capability":
			q.Capability = w.resources(value)
		case "spec.deserved":
			q.Deserved = w.resources(value)
		case "spec.guarantee":
			q.Guarantee = w.resources(value)
		case "closed":
			q.Closed = w.flag(value)
		case "unreclaimable":
			q.Unreclaimable = w.flag(value)
		case "hollow":
			q.Hollow = w.flag(value)
		default:
			if q.Annotations == nil {
				q.Annotations = map[string]string{}
			}
			q.Annotations[annotationKey(key)] = annotation(value)
			if value == "" {
				delete(q.Annotations, annotationKey(key))
			}
		}
		return true
	})
}

// annotationKey is the key of an annotation: of cards, of Volcano, or any other.
func annotationKey(word string) string {
	if key := ofCards[word]; key != "" {
		return key
	}
	if strings.Contains(word, "/") {
		return word
	}
	return prefix + word
}

// String is the command that makes the queue.
func (d SetQueue) String() string {
	text := "queue " + d.Name
	if d.Parent != "" {
		text += field("parent", d.Parent)
	}
	for _, n := range []struct {
		name  string
		value int32
	}{{"weight", d.Weight}, {"priority", d.Priority}} {
		if n.value != 0 {
			text += field(n.name, strconv.Itoa(int(n.value)))
		}
	}

	for _, part := range []struct {
		name string
		list workload.Resources
	}{{"capability", d.Capability}, {"spec.deserved", d.Deserved}, {"spec.guarantee", d.Guarantee}} {
		if part.list != nil {
			text += field(part.name, resourceText(part.list))
		}
	}

	words := map[string]string{}
	for word, key := range ofCards {
		words[key] = word
	}
	for _, key := range slices.Sorted(maps.Keys(d.Annotations)) {
		word := strings.TrimPrefix(key, prefix)
		if words[key] != "" {
			word = words[key]
		}
		text += field(word, annotationText(d.Annotations[key]))
	}

	for _, flag := range []struct {
		name string
		on   bool
	}{{"closed", d.Closed}, {"unreclaimable", d.Unreclaimable}, {"hollow", d.Hollow}} {
		if flag.on {
			text += " " + flag.name
		}
	}

	return text
}

// editQueue reads the words once, to find errors in them.
func (w *words) editQueue() Deed {
	d := EditQueue{w.next("a queue"), w.rest}
	w.ofQueue(&QueueSpec{})
	return d
}

// String is the command.
func (d EditQueue) String() string {
	text := "edit-queue " + d.Queue
	for _, word := range d.Words {
		key, value, _ := strings.Cut(word, "=")
		text += field(key, value)
	}
	return text
}

func (w *words) edit() Deed {
	d := EditGroup{Job: w.next("a job"), MinMember: 1}
	w.each(func(key, value string) bool {
		switch key {
		case "min":
			d.MinMember = int(w.number(value))
		case "minResources":
			d.MinResources = w.resources(value)
		default:
			return false
		}
		return true
	})
	return d
}

// String is the command.
func (d EditGroup) String() string {
	text := fmt.Sprintf("edit-job %s min=%d", d.Job, d.MinMember)
	if d.MinResources != nil {
		text += field("minResources", resourceText(d.MinResources))
	}
	return text
}

// String is the command.
func (d RelabelJob) String() string { return "relabel " + d.Job + d.Whose.text("") }

// String is the command.
func (d RemoveJob) String() string {
	if d.Orphans {
		return "delete-job " + d.Job + " orphans"
	}
	return "delete-job " + d.Job
}

// String is the command.
func (d ScaleJob) String() string { return fmt.Sprintf("scale %s %d", d.Job, d.Pods) }

// String is the command.
func (d FinishPod) String() string {
	return fmt.Sprintf("%s %s-%d", map[bool]string{false: "succeed", true: "fail"}[d.Failed], d.Job, d.Pod)
}

// String is the command.
func (d DeletePod) String() string { return fmt.Sprintf("delete-pod %s-%d", d.Job, d.Pod) }

// String is the command.
func (d OpenGates) String() string { return "open-gates " + d.Job }

// String is the command.
func (d AnnotatePod) String() string {
	return fmt.Sprintf("annotate-pod %s-%d", d.Job, d.Pod) + field(d.Key, d.Value)
}

// String is the command.
func (d AnnotateGroup) String() string { return "annotate-job " + d.Job + field(d.Key, d.Value) }

// String is the command.
func (d DeleteQueue) String() string { return "delete-queue " + d.Queue }

// String is the command.
func (d LoseNode) String() string { return "lose-node " + d.Node }

// String is the command.
func (d RemakeNode) String() string { return "remake-node " + d.Node }

// String is the command.
func (d ReplacePods) String() string { return "replace-pods " + d.Node }

// String is the command.
func (Restart) String() string { return "restart" }

// String is the command.
func (d Leave) String() string { return fmt.Sprintf("leave %d", d.Cycles) }

// String is the command.
func (Renew) String() string { return "renew" }

// String is the command.
func (d Wait) String() string { return "wait " + d.Time.String() }
