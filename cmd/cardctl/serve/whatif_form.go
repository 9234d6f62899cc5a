package serve

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/whatif"
)

// pick has the fields of a form that add one change to it: a setting of a queue, an object to remove, or a manifest.
type pick struct {
	fill                            string // setting, object or job: add it and simulate nothing yet
	queue, field, of, value, object string
	kind, namespace, in, card, pods string
	each                            string // cards of each pod
}

// picks reads the fields that a form adds.
func picks(form url.Values) pick {
	get := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	return pick{
		fill:      get("fill"),
		queue:     get("queue"),
		field:     get("field"),
		of:        get("of"),
		value:     get("value"),
		object:    get("object"),
		kind:      get("kind"),
		namespace: get("namespace"),
		in:        get("in"),
		card:      get("card"),
		pods:      get("pods"),
		each:      get("each"),
	}
}

// into adds the picked change to the lines of a change. Fields that are filled in when the form is sent are part of
// it. Only a button adds a manifest, or removes a field by an empty value.
func (p pick) into(c *change) {
	if p.queue != "" && p.field != "" && (p.value != "" || p.fill == "setting") {
		field := p.field
		if strings.HasSuffix(field, ".") {
			field += p.of
		}
		c.Set = append(c.Set, "queue/"+p.queue+":"+field+"="+p.value)
	}

	if p.object != "" {
		c.Remove = append(c.Remove, p.object)
	}
	c.fill = p.fill != ""
}

// The templates of manifests. The names that users pick are quoted, so that they are no other fields.
const (
	jobTemplate = `apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: what-if, namespace: %[1]s}
spec:
  queue: %[2]s
  schedulerName: volcano
  minAvailable: %[3]d
  tasks:
  - name: worker
    replicas: %[3]d
    template:
      metadata: {annotations: {volcano.sh/card.name: %[4]s}}
      spec:
        restartPolicy: Never
        containers:
        - {name: main, image: none, resources: {limits: {cpu: 1, memory: 1Gi, %[5]s: %[6]d}}}
`
	deploymentTemplate = `apiVersion: apps/v1
kind: Deployment
metadata: {name: what-if, namespace: %[1]s}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: what-if}}
  template:
    metadata:
      labels: {app: what-if}
      annotations: {scheduling.volcano.sh/queue-name: %[2]s, volcano.sh/card.name: %[4]s}
    spec:
      schedulerName: volcano
      containers:
      - {name: main, image: none, resources: {limits: {cpu: 1, memory: 1Gi, %[5]s: %[6]d}}}
`
)

// manifest returns the picked manifest, for the picked queue and card.
func (q *request) manifest(p pick) string {
	template := jobTemplate
	if p.kind == "Deployment" {
		template = deploymentTemplate
	}

	resource := "nvidia.com/gpu"
	for _, n := range q.Stock.Nodes {
		if n.Card == p.card {
			resource = n.Resource
		}
	}

	namespace := plain(cmp.Or(p.namespace, "default"))
	pods := max(1, number(p.pods))
	each := max(1, number(p.each))
	return fmt.Sprintf(template, namespace, plain(p.in), pods, plain(p.card), plain(resource), each)
}

// unquoted are texts that are the same in YAML without quotes. Words such as "true" are not among them.
var unquoted = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9./-]*[0-9-][A-Za-z0-9./-]*$|^(default|nvidia\.com/gpu)$`)

// plain returns a text as YAML.
func plain(text string) string {
	if unquoted.MatchString(text) {
		return text
	}
	quoted, _ := json.Marshal(text) // of a string
	return string(quoted)
}

// formParts has the choices that the pickers of the page offer.
type formParts struct {
	Cards    []string
	Policies []string
	Run      string // names the simulation, to ask for its progress
}

// formParts fills the pickers.
func (q *request) formParts() formParts {
	cards := resourcesOf(q.Model.Queues)
	for _, c := range q.Stock.Cards {
		if !slices.Contains(cards, c.Card) {
			cards = append(cards, c.Card)
		}
	}
	slices.Sort(cards)
	return formParts{Cards: cards, Policies: whatif.Policies(), Run: rand.Text()}
}
