package model

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
	"github.com/capacity-card/capacity-card/index/card"
)

// Detail has the facts about a job that the pages show in addition to its explanation.
type Detail struct {
	Created  *metav1.Time // nil for a manifest
	Priority int32
	Requests []stock.Amount    // of the pods that wait
	Nodes    []stock.JobOnNode // of the pods that are placed
}

// Has adds up the cards of a job on all nodes, by card.
func (d *Detail) Has() []stock.Amount {
	sums := map[string]float64{}
	for _, on := range d.Nodes {
		for _, a := range on.Cards {
			sums[a.Card] += a.Cards
		}
	}
	return stock.Amounts(sums)
}

// details finds the details of all jobs, by jobKey.
func details(w *engine.World, s *engine.Session) map[string]*Detail {
	all := map[string]*Detail{}
	settings := s.Settings().Cards
	labels := settings.Labels
	shared := engine.SharedCards(w.Nodes, labels, settings.Fractions)

	for _, g := range w.Groups {
		d := &Detail{Requests: requestsOf(s, g, labels, shared)}
		if job := s.Jobs[g.ID()]; job != nil {
			d.Priority = job.Priority
			d.Nodes = stock.NodesOf(s, job)
		}
		if !g.CreationTimestamp.IsZero() {
			d.Created = &g.CreationTimestamp
		}
		all[string(g.ID())] = d
	}
	return all
}

func jobKey(namespace, podGroup string) string { return namespace + "/" + podGroup }

// requestsOf returns the cards that the pods of a job on no node request.
func requestsOf(s *engine.Session, g *engine.Group, labels card.Labels, shared engine.Shared) []stock.Amount {
	sums := map[string]float64{}
	var pods []*v1.Pod // that wait
	for _, pod := range slices.Concat(g.Pods, g.Coming) {
		if pod.Spec.NodeName != "" || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
			continue
		}

		pods = append(pods, pod)
		for _, r := range shared.Requests(pod) {
			if labels.Known(r.Resource) {
				sums[cmp.Or(card.NameOf(pod.Annotations).String(), string(r.Resource))] += r.Milli.Cards()
			}
		}
	}
	for name, n := range stock.Claimed(s, g, pods) {
		sums[name] += n
	}

	// A job without pods states its cards in an annotation.
	if len(pods) == 0 && len(g.Pods) == 0 {
		stated, _ := card.ParseRequest(g.Annotations[card.RequestKey])
		for _, r := range stated {
			sums[r.List.String()] += float64(r.Count)
		}
	}
	return stock.Amounts(sums)
}

// Detail returns the detail of a job. There is one for each finding.
func (m *Model) Detail(f *explain.Finding) *Detail { return m.Details[jobKey(f.Namespace, f.Name)] }

// known finds the objects that have pages.
type known struct {
	queues    *tree
	podGroups map[[2]string]string          // by namespace and owner
	jobs      map[string]*explain.Finding   // by jobKey
	nodes     map[string]bool               // that are on the page Cards
	onNode    map[string][]*explain.Finding // jobs with pods on a node

	once once
}

func (m *Model) indexNames() {
	n := &known{
		queues:    newTree(m.Queues),
		podGroups: map[[2]string]string{},
		jobs:      map[string]*explain.Finding{},
		nodes:     map[string]bool{},
		onNode:    map[string][]*explain.Finding{},
	}
	for i := range m.Jobs {
		f := &m.Jobs[i]
		n.jobs[jobKey(f.Namespace, f.Name)] = f

		key := [2]string{f.Namespace, f.Owner}
		if _, found := n.podGroups[key]; !found || f.Pods.Placed > 0 {
			n.podGroups[key] = f.Name
		}

		if d := m.Detail(f); d != nil {
			for _, on := range d.Nodes {
				n.onNode[on.Node] = append(n.onNode[on.Node], f)
			}
		}
	}

	for _, on := range m.Stock.Nodes {
		n.nodes[on.Node] = true
	}
	m.known = n
}

// Path returns a queue and its ancestors, none if there is no such queue.
func (m *Model) Path(name string) []string {
	if m.Queue(name) == nil {
		return nil
	}
	return m.known.queues.path(name)
}

// HasQueue reports whether there is a queue of a name.
func (m *Model) HasQueue(name string) bool { return m.Queue(name) != nil }

// HasNode reports whether the page Cards has a node.
func (m *Model) HasNode(name string) bool { return m.known.nodes[name] }

// PodGroup returns the name of the PodGroup of an owner, "" for none. It prefers a PodGroup with
// pods on nodes. If there is no such owner, it is the PodGroup of that name: validate names a PodGroup so if its
// owner is not in the input.
func (m *Model) PodGroup(namespace, owner string) string {
	if name, found := m.known.podGroups[[2]string{namespace, owner}]; found {
		return name
	}

	_, name, _ := strings.Cut(owner, "/")
	if m.Job(namespace, name) != nil {
		return name
	}
	return ""
}

// OnNode returns the jobs that have pods on a node.
func (m *Model) OnNode(name string) []*explain.Finding { return m.known.onNode[name] }
