package chaos

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// job reads a job. The words of its pods come last; + begins pods of another kind.
func (w *words) job() JobSpec {
	j := JobSpec{Name: w.next("a name"), MinMember: 1}
	for all := w.rest; ; {
		end := slices.Index(all, "+")
		if end < 0 {
			w.rest = all
			j.Pods = append(j.Pods, w.pods(&j)...)
			return j
		}

		w.rest = all[:end]
		j.Pods = append(j.Pods, w.pods(&j)...)
		all = all[end+1:]
	}
}

// group describes several pods of a job together.
type group struct {
	PodSpec
	n     int
	gpus  string
	nodes []string
	ran   []string
}

// pods reads pods of one kind, and words about their job.
func (w *words) pods(j *JobSpec) (all []PodSpec) {
	g := group{n: 1}
	w.each(func(key, value string) bool { return w.ofJob(j, key, value) || w.ofPods(&g, key, value) })

	if g.gpus == "" && g.Requests == nil && g.Cards != "" && g.Claims == "" && g.Shares == "" {
		g.gpus = "1"
	}
	if g.gpus != "" {
		if g.Requests == nil {
			g.Requests = workload.Resources{}
		}
		g.Requests[gpu] = w.number(g.gpus)
	}

	for i := range g.n {
		p := g.PodSpec
		p.Requests = p.Requests.Clone()
		if len(g.nodes) > 0 {
			p.On = g.nodes[min(i, len(g.nodes)-1)]
		}

		if len(g.ran) > 0 {
			if ran := g.ran[min(i, len(g.ran)-1)]; ran == "unknown" {
				p.Ran = Unknown
			} else {
				p.Ran = w.duration(ran)
			}
		}

		all = append(all, p)
	}

	return all
}

func (w *words) ofJob(j *JobSpec, key, value string) bool {
	switch key {
	case "queue":
		j.Queue = value
	case "namespace":
		j.Namespace = value
	case "priority":
		j.Priority = int32(w.number(value))
	case "min":
		j.MinMember = int(w.number(value))
	case "minResources":
		j.MinResources = w.resources(value)
	case "card.request":
		j.CardRequest = annotation(value)
	case "service":
		j.Service = value
	case "runtime":
		j.Runtime = value
	case "owner":
		j.Owner = value
	case "later":
		j.Later = w.flag(value)
	case "phase":
		j.Phase = workload.Phase(value)
	default:
		return w.ofWhose(&j.Whose, key, value)
	}

	return true
}

// ofWhose reads the holders of a job.
func (w *words) ofWhose(o *Whose, key, value string) bool {
	switch key {
	case "labels":
		o.Labels = w.labels(value)
	case "user":
		o.User = value
	case "groups":
		o.Groups = value
	default:
		return false
	}

	return true
}

// text are the words, each with a space and a prefix in front.
func (o Whose) text(prefix string) (text string) {
	if len(o.Labels) > 0 {
		text += field(prefix+"labels", labelText(o.Labels))
	}
	if o.User != "" {
		text += field(prefix+"user", o.User)
	}
	if o.Groups != "" {
		text += field(prefix+"groups", o.Groups)
	}

	return text
}

func (w *words) ofPods(g *group, key, value string) bool {
	switch key {
	case "pods":
		g.n = int(w.number(value))
	case "card":
		g.Cards = value
	case "claims":
		w.claimed(value)
		g.Claims = value
	case "shares":
		g.Shares = value
	case "gpus":
		g.gpus = value
	case "requests":
		g.Requests = w.resources(value)
	case "on":
		g.nodes = strings.Split(value, ",")
	case "ran":
		g.ran = strings.Split(value, ",")
	case "bound":
		g.Bound = w.flag(value)
	case "terminating":
		g.Deleted = w.flag(value)
	case "kept":
		g.Kept = w.flag(value)
	case "gated":
		g.Gated = w.flag(value)
	case "queue-gated":
		g.QueueGated = w.flag(value)
	case "opted-in":
		g.OptedIn = w.flag(value)
	default:
		key, ofPod := strings.CutPrefix(key, ofPods)
		return ofPod && w.ofWhose(&g.Whose, key, value)
	}

	return true
}

// ofPods begins the words about the holders that pods name themselves.
const ofPods = "pod."

// String is the command that creates the job.
func (d SubmitJob) String() string {
	text := "job " + d.Name + field("queue", d.Queue)
	for _, part := range []struct{ key, value string }{
		{"namespace", d.Namespace},
		{"phase", string(d.Phase)},
		{"service", d.Service},
		{"runtime", d.Runtime},
		{"owner", d.Owner},
	} {
		if part.value != "" {
			text += field(part.key, part.value)
		}
	}

	if d.Priority != 0 {
		text += field("priority", strconv.Itoa(int(d.Priority)))
	}
	if d.MinMember != 1 {
		text += field("min", strconv.Itoa(d.MinMember))
	}
	if d.MinResources != nil {
		text += field("minResources", resourceText(d.MinResources))
	}
	if d.CardRequest != "" {
		text += field("card.request", annotationText(d.CardRequest))
	}
	if d.Later {
		text += " later"
	}

	text += d.Whose.text("")
	for i := 0; i < len(d.Pods); {
		n := 1
		for i+n < len(d.Pods) && reflect.DeepEqual(d.Pods[i+n], d.Pods[i]) {
			n++
		}

		if i > 0 {
			text += " +"
		}
		if n > 1 || i > 0 && d.Pods[i].String() == "" {
			text += field("pods", strconv.Itoa(n))
		}

		text += d.Pods[i].String()
		i += n
	}

	if len(d.Pods) == 0 {
		text += field("pods", "0")
	}

	return text
}

// String are the words of a pod, each with a space in front.
func (p PodSpec) String() string {
	text, requests := "", p.Requests.Clone()
	if p.Cards != "" {
		text += field("card", p.Cards)
	}
	if p.Claims != "" {
		text += field("claims", p.Claims)
	}
	if p.Shares != "" {
		text += field("shares", p.Shares)
	}

	if n := requests[gpu]; n > 0 {
		delete(requests, gpu)
		if p.Cards == "" || n != 1 || len(requests) > 0 {
			text += field("gpus", strconv.Itoa(int(n)))
		}
		if len(requests) == 0 {
			requests = nil
		}
	} else if requests == nil && p.Cards != "" && p.Claims == "" && p.Shares == "" {
		requests = workload.Resources{}
	}

	if requests != nil {
		text += field("requests", resourceText(requests))
	}
	if p.On != "" {
		text += field("on", p.On)
	}

	switch p.Ran {
	case 0:
	case Unknown:
		text += field("ran", "unknown")
	default:
		text += field("ran", p.Ran.String())
	}

	for _, flag := range []struct {
		name string
		on   bool
	}{
		{"bound", p.Bound}, {"terminating", p.Deleted}, {"kept", p.Kept}, {"gated", p.Gated},
		{"queue-gated", p.QueueGated}, {"opted-in", p.OptedIn},
	} {
		if flag.on {
			text += " " + flag.name
		}
	}

	return text + p.Whose.text(ofPods)
}
