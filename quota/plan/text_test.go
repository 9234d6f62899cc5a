package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestText runs the files of testdata. A file describes clusters with cards:
//
//	plan [whole]
//	node NAME idle=CARDS
//	queue NAME deserved=CARDS [limit=CARDS] [guarantee=CARDS]
//	root limit=CARDS
//	job NAME queue=NAME [min=N] [class=N] pods=NODE:CARDS[:lost=N][:fixed],...
//	claim queue=NAME pods=CARDS,...
//
// The limit of a queue is 1,000 cards if nothing else is said, and the minimum of a job all its pods.
func TestText(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "fuzz") {
			return
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w := &textWorld{world: world{cannot: map[placement]bool{}}, queue: map[string]int{}, node: map[string]int{}}
			w.queues = []modelQueue{{limit: 1e9}}
			w.p.Whole = len(d.CmdArgs) > 0 && d.CmdArgs[0].Key == "whole"
			for _, line := range strings.Split(d.Input, "\n") {
				w.read(strings.Fields(line))
			}
			w.p.Accounts = &w.world
			return w.text(Make(&w.p))
		})
	})
}

// textWorld is a world with names.
type textWorld struct {
	world
	queue, node map[string]int
}

// read reads a line.
func (w *textWorld) read(words []string) {
	values := map[string]string{}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		values[key] = value
	}
	switch words[0] {
	case "node":
		w.node[words[1]] = len(w.p.Nodes)
		w.p.Nodes = append(w.p.Nodes, Node{Name: words[1], Free: []float64{cards(values["idle"], 0)}})
	case "queue":
		w.queue[words[1]] = len(w.queues)
		w.queues = append(w.queues, modelQueue{limit: cards(values["limit"], 1000), deserved: cards(values["deserved"], 0),
			guarantee: cards(values["guarantee"], 0)})
	case "root":
		w.queues[0].limit = cards(values["limit"], 0)
	case "job":
		w.readJob(words[1], values)
	case "claim":
		w.claim = w.queue[values["queue"]]
		for _, size := range strings.Split(values["pods"], ",") {
			n, _ := strconv.Atoi(size)
			w.p.Pods = append(w.p.Pods, Pod{Kind: n, Requests: []float64{cards(size, 0)}})
		}
	}
}

func (w *textWorld) readJob(name string, values map[string]string) {
	pods := strings.Split(values["pods"], ",")
	least := len(pods)
	if values["min"] != "" {
		least, _ = strconv.Atoi(values["min"])
	}
	class, _ := strconv.Atoi(values["class"])
	job := Job{Name: name, Spare: len(pods) - least}
	for i, text := range pods {
		parts := strings.Split(text, ":")
		lost := 0
		for _, part := range parts[2:] {
			after, of := strings.CutPrefix(part, "lost=")
			if of {
				lost, _ = strconv.Atoi(after)
			}
		}
		node, known := w.node[parts[0]]
		if !known {
			node = None
		}
		size := cards(parts[1], 0)
		job.Pods = append(job.Pods, Candidate{Name: fmt.Sprint(name, "-", i), Node: node, Frees: []float64{size}, For: []bool{true},
			Class: class, Lost: int64(lost), Order: 100*len(w.p.Jobs) + i, Fixed: slices.Contains(parts, "fixed")})
		w.queues[0].allocated += size
		w.queues[w.queue[values["queue"]]].allocated += size
	}
	w.p.Jobs, w.owners = append(w.p.Jobs, job), append(w.owners, w.queue[values["queue"]])
}

// cards returns a quantity of cards in thousandths.
func cards(text string, usual float64) float64 {
	if text == "" {
		return 1000 * usual
	}
	n, _ := strconv.ParseFloat(text, 64)
	return 1000 * n
}

// spared has the names of the reasons that spare a candidate.
var spared = map[Spared]string{ByMinimum: "minimum", ByDeserved: "deserved", ByGuarantee: "guarantee",
	ByLending: "lending", ByPolicy: "policy", ByBudget: "budget", ByOthers: "others"}

// text describes a plan.
func (w *textWorld) text(p Plan) string {
	b := &strings.Builder{}
	if !p.Found() {
		f := p.Failure
		fmt.Fprintf(b, "none: pod %d", f.Pod)
		if f.Node != None {
			fmt.Fprintf(b, " lacks %g on %s", f.Lacks[0]/1000, w.p.Nodes[f.Node].Name)
		}
		if !f.Verdict.OK() {
			fmt.Fprintf(b, " and a bound of queue %d refuses it", f.Verdict.Queue)
		}
		fmt.Fprintln(b)
		var lines []string
		for v, by := range f.Spared {
			lines = append(lines, fmt.Sprintf("spared: %s by %s\n", w.p.Jobs[v.Job].Pods[v.Pod].Name, spared[by]))
		}
		slices.Sort(lines)
		fmt.Fprint(b, strings.Join(lines, ""))
		return b.String()
	}
	b.WriteString("nodes:")
	for _, node := range p.Nodes {
		fmt.Fprint(b, " ", w.p.Nodes[node].Name)
	}
	b.WriteString("\nvictims:")
	for _, v := range p.Victims {
		fmt.Fprint(b, " ", w.p.Jobs[v.Job].Pods[v.Pod].Name)
	}
	fmt.Fprintf(b, "\nbroken: %d\n", p.Broken)
	return b.String()
}
