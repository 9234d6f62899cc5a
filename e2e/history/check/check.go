package check

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/history"
	"github.com/capacity-card/capacity-card/index/card"
)

// Run checks a history. Its records are in order of revision.
func Run(records []history.Record) (*Report, error) {
	changes, err := decodeAll(records)
	if err != nil {
		return nil, err
	}

	return replay(changes)
}

func decodeAll(records []history.Record) ([]change, error) {
	changes := make([]change, 0, len(records))
	for _, record := range records {
		c, err := decode(record)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}

	return changes, nil
}

// cluster is the state of a cluster at one revision, and the part of its past that the rules need.
type cluster struct {
	windows
	report        *Report
	revision      int64
	now           time.Time
	configuration Configuration
	groups        card.Groups

	nodes     map[string]versions[node]
	queues    map[string]versions[queue]
	podGroups map[string]*scheduling.PodGroup // by namespace/name
	pods      map[types.UID]*pod

	// wrong are the queues that had a wrong annotation.
	wrong map[string]bool
	// seen holds the time of the last change of each kind.
	seen      map[string]time.Time
	evictions []*eviction
	// doubtful are evictions that are unjust unless another pod of the queue was bound in the same cycle.
	doubtful []*eviction
	// changedAt is the time of the last change of a queue, of a node, or of the pods that count.
	changedAt time.Time
	// ended are pods that counted, with the time at which they ended.
	ended []ended
	// gone are pods that were deleted while they waited.
	gone []*pod
	// lastRest is the time of the last Quiet. edited is the time of the last edit of a queue.
	lastRest time.Time
	edited   time.Time
}

// ended is a pod that no longer counts.
type ended struct {
	*pod
	until time.Time
}

// replay checks all changes.
func replay(changes []change) (*Report, error) {
	c := &cluster{
		report:    &Report{Excused: map[string]int{}, Marks: map[string]int{}},
		nodes:     map[string]versions[node]{},
		queues:    map[string]versions[queue]{},
		podGroups: map[string]*scheduling.PodGroup{},
		pods:      map[types.UID]*pod{},
		wrong:     map[string]bool{},
		seen:      map[string]time.Time{},
	}

	for _, each := range changes {
		if each.Revision != c.revision && each.Type != history.Marked {
			c.report.Revisions++
		}
		c.revision = each.Revision

		// Watches run concurrently, so times are not quite in order of revision.
		if each.Time.After(c.now) {
			c.now = each.Time
		}

		err := c.take(each)
		if err != nil {
			return nil, err
		}
		c.settle(c.now.Add(-Lag))
	}
	c.settle(c.now)

	return c.report, nil
}

// take advances the state to the next revision, and checks the changes.
func (c *cluster) take(each change) error {
	switch each.Type {
	case history.Marked:
		return c.takeMark(each.Mark)
	case history.Gap:
		// The order of the changes in a gap is not known.
		c.faults = append(c.faults, interval{what: "gap", from: c.seen[each.Kind], until: c.now})
		c.report.Marks["gap "+each.Kind]++
		return nil
	}

	c.seen[each.Kind] = c.now
	switch object := each.object.(type) {
	case *corev1.Node:
		c.takeNode(object, each.Type == history.Deleted)
	case *scheduling.Queue:
		c.takeQueue(object, each.Type)
	case *scheduling.PodGroup:
		c.takePodGroup(object, each.Type == history.Deleted)
	case *corev1.Pod:
		c.takePod(object, each.Type)
	case *corev1.Event:
		c.takeEvent(object, each.Type)
	}

	return nil
}

func (c *cluster) takeMark(mark *history.Mark) error {
	c.report.Marks[strings.TrimSpace(mark.What+" "+firstWord(mark.Name))]++
	if mark.What == Restart || mark.What == Fenced {
		c.forgetCards()
	}

	if c.windows.mark(mark.What, mark.Name, c.now) {
		return nil
	}

	switch mark.What {
	case Configured:
		return c.configure(mark.Text)
	case Quiet:
		c.rest()
		c.lastRest = c.now
		c.report.Rests++
	case Note:
	case Metrics:
		c.checkMetrics(mark.Text)
	default:
		return fmt.Errorf("revision %d: a mark %q", c.revision, mark.What)
	}

	return nil
}

// configure reads a Configuration.
func (c *cluster) configure(text string) error {
	c.configuration = Configuration{}
	c.groups = card.Groups{}
	err := json.Unmarshal([]byte(text), &c.configuration)
	if err != nil {
		return fmt.Errorf("revision %d: reading the configuration: %w", c.revision, err)
	}

	for name, entries := range c.configuration.Groups {
		group, err := card.NewGroup(name, entries)
		if err != nil {
			return fmt.Errorf("revision %d: group %s: %w", c.revision, name, err)
		}
		c.groups[name] = group
	}

	return nil
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

func (c *cluster) takeNode(object *corev1.Node, deleted bool) {
	after := node{}
	if !deleted {
		after = readNode(object)
	}

	c.nodes[object.Name] = append(c.nodes[object.Name], version[node]{c.now, after})
	c.changedAt = c.now
}

func (c *cluster) takeQueue(object *scheduling.Queue, kind history.Type) {
	all := c.queues[object.Name]
	after := queue{}
	if kind != history.Deleted {
		after = readQueue(object, lastGood(all.since(c.view(c.now))))
	}
	if after.same(all.now()) {
		return // only the status changed
	}

	c.queues[object.Name] = append(all, version[queue]{c.now, after})
	c.edited = c.now
	c.changedAt = c.now
	c.wrong[object.Name] = c.wrong[object.Name] || after.bad

	if kind != history.Listed {
		c.countExcess(object.Name)
	}
}

func (c *cluster) takePodGroup(object *scheduling.PodGroup, deleted bool) {
	name := object.Namespace + "/" + object.Name
	if deleted {
		delete(c.podGroups, name)
		return
	}

	c.podGroups[name] = object
	c.checkConditions(object)
}

func (c *cluster) takePod(object *corev1.Pod, kind history.Type) {
	before := c.pods[object.UID]
	if kind == history.Deleted {
		c.dropPod(object.UID)
		return
	}
	after := readPod(object)
	c.pods[object.UID] = after
	after.created = c.now
	after.said = c.now
	if before != nil {
		c.carry(before, after)
	}

	if after.bound == 0 && object.Spec.NodeName != "" {
		c.bind(after, kind == history.Listed)
	}

	if after.evicted && (before == nil || !before.evicted) && kind != history.Listed {
		c.evict(after)
	}
}

// carry hands over what earlier states of a pod tell, and checks the change.
func (c *cluster) carry(before, after *pod) {
	after.created = before.created
	if reasonOf(before.object) == reasonOf(after.object) {
		after.said = before.said
	}

	after.bound = before.bound
	after.at = before.at
	after.queue = before.queue
	after.card = before.card
	if before.counts() && !after.counts() {
		c.end(after)
	}

	c.checkEvictedOnce(before, after)
}

// end records that a pod no longer counts.
func (c *cluster) end(p *pod) {
	c.ended = append(c.ended, ended{p, c.now})
	c.changedAt = c.now
}

// dropPod forgets a deleted pod.
func (c *cluster) dropPod(uid types.UID) {
	p := c.pods[uid]
	if p == nil {
		return
	}

	delete(c.pods, uid)
	switch {
	case p.counts():
		c.end(p)
	case p.object.Spec.NodeName == "":
		c.gone = append(c.gone, p)
	}

	for _, e := range c.evictions {
		if e.pod.object.UID == uid && e.until.IsZero() {
			e.until = c.now
		}
	}
}

// find reports a finding.
func (c *cluster) find(rule Rule, objects []string, format string, arguments ...any) {
	c.report.Findings = append(c.report.Findings, Finding{
		Revision: c.revision,
		Time:     c.now,
		Rule:     rule,
		Objects:  objects,
		Text:     fmt.Sprintf(format, arguments...),
	})
}

// excuse counts a breach that a reason excuses.
func (c *cluster) excuse(reason string) { c.report.Excused[reason]++ }
