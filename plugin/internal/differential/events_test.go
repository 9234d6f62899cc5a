package differential_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/reclaim"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// compareAnswers compares all hooks that change nothing.
func (d *differential) compareAnswers() error {
	for _, compare := range []func() error{
		d.compareOrder, d.compareAdmission, d.compareReclaim, d.compareGangs, d.compareSimulation,
	} {
		if err := compare(); err != nil {
			return err
		}
	}
	return nil
}

func (d *differential) compareOrder() error {
	queues := slices.DeleteFunc(slices.Clone(d.queues), func(name string) bool {
		return d.ours.Queues[api.QueueID(name)] == nil // an added root
	})
	for _, l := range queues {
		for _, r := range queues {
			lid, rid := api.QueueID(l), api.QueueID(r)
			err := d.check(fmt.Sprintf("QueueOrder(%s, %s)", l, r),
				d.theirs.QueueOrderFn(d.theirs.Queues[lid], d.theirs.Queues[rid]),
				d.ours.QueueOrderFn(d.ours.Queues[lid], d.ours.Queues[rid]))
			if err != nil {
				return err
			}
			p := api.QueueID(queues[d.rand.IntN(len(queues))])
			if err := d.check(fmt.Sprintf("VictimQueueOrder(%s, %s, %s)", l, r, p),
				d.theirs.VictimQueueOrderFn(d.theirs.Queues[lid], d.theirs.Queues[rid], d.theirs.Queues[p]),
				d.ours.VictimQueueOrderFn(d.ours.Queues[lid], d.ours.Queues[rid], d.ours.Queues[p])); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareAdmission compares Allocatable, Preemptive and Overused for every task
// in its own queue and in a random one.
func (d *differential) compareAdmission() error {
	theirs, ours := d.tasks(func(*api.TaskInfo) bool { return true })
	for i, task := range theirs {
		own := ours[i]
		for i, queue := range []string{string(d.theirs.Jobs[task.Job].Queue), d.queues[d.rand.IntN(len(d.queues))]} {
			if reserve.OptedIn(task) && (i > 0 || task.Status != api.Pending) {
				continue // actions ask for pending pods in their own queue, and upstream reserves their requests
			}
			tq, oq := d.theirs.Queues[api.QueueID(queue)], d.ours.Queues[api.QueueID(queue)]
			if oq == nil {
				continue // an added root
			}
			what := fmt.Sprintf("(%s, %s requests %v)", queue, task.Name, task.Resreq)
			if err := d.compareAllocatable("Allocatable"+what, queue, task, d.own.Index, d.theirs.Allocatable(tq, task), d.ours.Allocatable(oq, own)); err != nil {
				return err
			}
			if err := d.comparePreemptive(what, queue, task, own); err != nil {
				return err
			}
			if err := d.check("Overused"+what, d.theirs.Overused(tq), d.ours.Overused(oq)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *differential) comparePreemptive(what, queue string, theirTask, ourTask *api.TaskInfo) error {
	ours := release.Preemptive(d.ours)(d.ours.Queues[api.QueueID(queue)], ourTask)
	ourGauge := d.overusedGauge(queue, testbed.OurSeries)
	theirs := release.Preemptive(d.theirs)(d.theirs.Queues[api.QueueID(queue)], theirTask)
	if theirs == ours {
		if theirGauge := d.overusedGauge(queue, testbed.TheirSeries); d.own.Index.IsLeaf(d.own.Index.Lookup(queue)) && theirGauge != ourGauge {
			return fmt.Errorf("queue_overused after Preemptive%s: upstream %v, ours %v", what, theirGauge, ourGauge)
		}
		d.answers++
		return nil
	}
	if theirs && d.name == session.CapacityName {
		testbed.QueueSeries("overused").Volcano().WithLabelValues(queue).Set(ourGauge)
		future := d.upstream.account(queue, "allocated").Clone().Add(theirTask.Resreq)
		if ok, _ := future.LessEqualWithDimensionAndResourcesName(d.upstream.account(queue, "realCapability"), theirTask.Resreq); !ok {
			d.excuse(capabilityFirst)
			return nil
		}
		if !d.own.Index.IsLeaf(d.own.Index.Lookup(queue)) {
			d.excuse(refusedAlone) // a task in an inner queue, which only a bad job can have
			return nil
		}
	}
	return fmt.Errorf("Preemptive%s: upstream answers %t, ours %t", what, theirs, ours)
}

func (d *differential) overusedGauge(queue string, series func(string) map[string]float64) float64 {
	if !d.upstream.has(queue) {
		return 0
	}
	return series("overused")[queue]
}

func (d *differential) compareReclaim() error {
	gone := d.rand.IntN(10) == 0 // some calls include tasks that are being deleted
	theirs, ours := d.tasks(func(t *api.TaskInfo) bool {
		return api.AllocatedStatus(t.Status) || gone && t.Status == api.Releasing
	})
	all, ourAll := d.tasks(func(*api.TaskInfo) bool { return true })
	if len(theirs) == 0 {
		return nil
	}
	for range 3 {
		r := d.rand.IntN(len(all))
		var theirList, ourList []*api.TaskInfo
		for _, i := range d.rand.Perm(len(theirs)) {
			theirList, ourList = append(theirList, theirs[i]), append(ourList, ours[i])
		}
		var want, got []*api.TaskInfo
		if guard(func() { want = d.theirs.Reclaimable(all[r], theirList) }) {
			d.excuse(saturates)
			continue
		}
		got = d.ours.Reclaimable(ourAll[r], ourList)
		if d.intended(all[r], want, got) {
			continue
		}
		what := fmt.Sprintf("Reclaimable(%s %v)", all[r].Name, all[r].Resreq)
		if err := d.check(what, fmt.Sprint(taskNames(want)), fmt.Sprint(taskNames(got))); err != nil {
			return err
		}
	}
	return nil
}

// intended reports whether the victims differ for an intended reason: those that upstream
// takes do not make room for the reclaimer at every level, or leave an inner queue less than
// its guarantee.
func (d *differential) intended(reclaimer *api.TaskInfo, want, got []*api.TaskInfo) bool {
	if d.name != session.CapacityName || slices.Equal(taskNames(want), taskNames(got)) {
		return false
	}
	path := d.path(string(d.theirs.Jobs[reclaimer.Job].Queue))
	if d.breaksInnerGuarantee(path, d.without(want)) {
		d.excuse(innerGuarantee)
		return true
	}
	kept := d.withoutSpared(path[0], want)
	if why := d.refused(path, reclaimer, kept); len(got) == 0 && why != "" {
		d.excuse(why)
		return true
	}
	// Once a victim is spared, its queue has more left, and others of it are taken.
	for i, victim := range want {
		if i >= len(got) || got[i].Name != victim.Name {
			if i >= len(kept) || kept[i].Name != victim.Name {
				d.excuse(goneEverywhere)
				return true
			}
			return false
		}
	}
	return false
}

// refused returns the intended difference by which a reclaimer has no victims, "" if it has:
// something of its path has no room for it without these victims.
func (d *differential) refused(path []string, reclaimer *api.TaskInfo, victims []*api.TaskInfo) string {
	if d.claimsRefused(reclaimer, victims) {
		return victimsSuffice
	}
	left := d.without(victims)
	for _, name := range path {
		after := left[name]
		if after == nil {
			after = d.upstream.account(name, "allocated")
		}
		after = after.Clone().Add(reclaimer.Resreq)
		if ok, _ := after.LessEqualWithDimensionAndResourcesName(d.upstream.account(name, "realCapability"), reclaimer.Resreq); !ok {
			return victimsSuffice
		}
		after.Add(d.reservedForOthers(name, reclaimer))
		if ok, _ := after.LessEqualWithDimensionAndResourcesName(d.upstream.account(name, "realCapability"), reclaimer.Resreq); !ok {
			return gatesKept
		}
	}
	return ""
}

// withoutSpared returns the victims that are not spared. A victim is spared if an ancestor of its queue has no more
// than it deserves, after the loss of the victims before.
func (d *differential) withoutSpared(reclaimer string, want []*api.TaskInfo) (kept []*api.TaskInfo) {
	levels, _ := d.arguments[arguments.AncestorReclaimLevel].(int)
	to := d.ancestorNames(reclaimer)
	for _, victim := range want {
		left, spared := d.without(kept), false
		for i, name := range d.ancestorNames(string(d.theirs.Jobs[victim.Job].Queue)) {
			if i >= levels || name == index.RootName || left[name] == nil || i < len(to) && to[i] == name {
				continue
			}
			deserved := d.upstream.account(name, "deserved")
			above, _ := left[name].GreaterPartlyWithRelevantDimensions(deserved, victim.Resreq)
			common := api.Intersection(victim.Resreq, deserved)
			spared = spared || len(common) > 0 && !above
		}
		if !spared {
			kept = append(kept, victim)
		}
	}
	return kept
}

func (d *differential) path(queue string) []string {
	return append([]string{queue}, d.ancestorNames(queue)...)
}

// without returns allocated of the queues with a victim, without the victims.
func (d *differential) without(victims []*api.TaskInfo) map[string]*api.Resource {
	left := map[string]*api.Resource{}
	for _, victim := range victims {
		for _, name := range d.path(string(d.theirs.Jobs[victim.Job].Queue)) {
			if left[name] == nil {
				left[name] = d.upstream.account(name, "allocated").Clone()
			}
			left[name] = api.ExceededPart(left[name], victim.Resreq)
		}
	}
	return left
}

// breaksInnerGuarantee reports whether an inner queue that is not on the path is left with
// less than its guarantee.
func (d *differential) breaksInnerGuarantee(path []string, left map[string]*api.Resource) bool {
	for name, rest := range left {
		if guarantee := d.upstream.account(name, "guarantee"); len(d.own.Index.Children(d.own.Index.Lookup(name))) > 0 && !slices.Contains(path, name) &&
			guarantee != nil && !guarantee.LessEqual(rest, api.Zero) {
			return true
		}
	}
	return false
}

func taskNames(tasks []*api.TaskInfo) []string {
	var names []string
	for _, t := range tasks {
		names = append(names, t.Name)
	}
	return names
}

// compareGangs compares the victims of gang reclaim and of gang preemption.
func (d *differential) compareGangs() error {
	theirs, ours := d.tasks(func(t *api.TaskInfo) bool { return t.Status == api.Running })
	if release.Built() < release.V115 || len(theirs) == 0 {
		return nil
	}
	for range 2 {
		var theirList, ourList []*api.TaskInfo
		for _, i := range d.rand.Perm(len(theirs)) {
			theirList, ourList = append(theirList, theirs[i]), append(ourList, ours[i])
		}
		for _, kind := range []release.EvictionKind{release.GangReclaim, release.GangPreempt} {
			ids := slices.Sorted(maps.Keys(d.theirs.Jobs))
			id := ids[d.rand.IntN(len(ids))]
			want := release.UnifiedEvictable(d.theirs, release.Eviction{Kind: kind, Job: d.theirs.Jobs[id]}, theirList)
			got := release.UnifiedEvictable(d.ours, release.Eviction{Kind: kind, Job: d.ours.Jobs[id]}, ourList)
			if fmt.Sprint(taskNames(want)) != fmt.Sprint(taskNames(got)) && d.breaksInnerGuarantee(d.path(string(d.theirs.Jobs[id].Queue)), d.without(want)) {
				d.excuse(innerGuarantee)
				continue
			}
			if levels := d.own.Settings.Levels; levels > 0 && fmt.Sprint(taskNames(want)) != fmt.Sprint(taskNames(got)) {
				with, plain := d.own.Settings, reclaim.Rules{}
				with.Levels = 0
				plain.Open(&d.own.Session, d.own.Memory.Reclaim, d.own.Variant, &with, d.own.Reclaim.Reports)
				release.AddUnifiedEvictableFn(d.ours, d.name, plain.EvictableForGang)
				got = release.UnifiedEvictable(d.ours, release.Eviction{Kind: kind, Job: d.ours.Jobs[id]}, ourList)
				release.AddUnifiedEvictableFn(d.ours, d.name, d.own.Reclaim.EvictableForGang)
				d.excuse(gangLevels) // if the rest is equal
			}
			if err := d.check(fmt.Sprintf("UnifiedEvictable(%d, %s)", kind, id), fmt.Sprint(taskNames(want)), fmt.Sprint(taskNames(got))); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareSimulation removes some tasks from a snapshot, adds others, and compares
// whether a task would fit. The accounts of the session stay as they are.
func (d *differential) compareSimulation() error {
	theirs, ours := d.tasks(func(*api.TaskInfo) bool { return true })
	if len(theirs) == 0 {
		return nil
	}
	p := d.rand.IntN(len(theirs))
	if err := d.check("PrePredicate", d.theirs.PrePredicateFn(theirs[p]), d.ours.PrePredicateFn(ours[p])); err != nil {
		return err
	}
	theirState, ourState := d.theirs.GetCycleState(theirs[p].UID).Clone(), d.ours.GetCycleState(ours[p].UID).Clone()
	ctx := context.Background()
	gone := map[int]int{}
	for range d.rand.IntN(8) {
		i := d.rand.IntN(len(theirs))
		var theirErr, ourErr error
		if api.AllocatedStatus(theirs[i].Status) && d.rand.IntN(3) > 0 {
			if gone[i]++; gone[i] > 1 && len(d.claims[theirs[i].Name]) > 0 {
				d.excuse(saturates) // upstream refunds a claim that the queue does not hold
				return nil
			}
			if guard(func() { theirErr = d.theirs.SimulateRemoveTaskFn(ctx, theirState, theirs[p], theirs[i], nil) }) {
				d.excuse(saturates) // the same task is removed twice
				return nil
			}
			ourErr = d.ours.SimulateRemoveTaskFn(ctx, ourState, ours[p], ours[i], nil)
		} else {
			gone[i]--
			theirErr = d.theirs.SimulateAddTaskFn(ctx, theirState, theirs[p], theirs[i], nil)
			ourErr = d.ours.SimulateAddTaskFn(ctx, ourState, ours[p], ours[i], nil)
		}
		if err := d.check("Simulate", theirErr, ourErr); err != nil {
			return err
		}
		queue := d.theirs.Jobs[theirs[p].Job].Queue
		if err := d.compareAllocatable("SimulateAllocatable", string(queue), theirs[p], d.simulated(ourState),
			d.theirs.SimulateAllocatableFn(ctx, theirState, d.theirs.Queues[queue], theirs[p]),
			d.ours.SimulateAllocatableFn(ctx, ourState, d.ours.Queues[queue], ours[p])); err != nil {
			return err
		}
	}
	return nil
}

// event makes the same change in both sessions and compares its effects.
func (d *differential) event() (string, error) {
	switch d.rand.IntN(4) {
	case 0:
		return "enqueue", d.enqueue()
	case 1:
		return "evict", d.move(func(t *api.TaskInfo) bool { return api.AllocatedStatus(t.Status) },
			func(s *framework.Statement, t *api.TaskInfo, _ *api.NodeInfo) error {
				return release.Evict(s, t, "test")
			})
	case 2:
		return "pipeline", d.move(func(t *api.TaskInfo) bool { return t.Status == api.Pending },
			func(s *framework.Statement, t *api.TaskInfo, n *api.NodeInfo) error {
				return s.Pipeline(t, n.Name, false)
			})
	default:
		return "allocate", d.move(func(t *api.TaskInfo) bool { return t.Status == api.Pending },
			func(s *framework.Statement, t *api.TaskInfo, n *api.NodeInfo) error { return s.Allocate(t, n) })
	}
}

// move runs one operation of a statement on a random task, and discards some of them.
func (d *differential) move(keep func(*api.TaskInfo) bool, do func(*framework.Statement, *api.TaskInfo, *api.NodeInfo) error) error {
	theirs, ours := d.tasks(keep)
	if len(theirs) == 0 {
		return nil
	}
	i := d.rand.IntN(len(theirs))
	node := d.cluster.Nodes[d.rand.IntN(len(d.cluster.Nodes))].Name
	queue := string(d.theirs.Jobs[theirs[i].Job].Queue)
	theirStatement, ourStatement := framework.NewStatement(d.theirs), framework.NewStatement(d.ours)
	// The nodes answer the same on both sides.
	_ = do(ourStatement, ours[i], d.ours.Nodes[node])
	set := eventSeries(queue, testbed.OurSeries)
	_ = do(theirStatement, theirs[i], d.theirs.Nodes[node])
	d.mendEvicted(theirs[i])
	if err := d.afterMove(queue, set); err != nil {
		return fmt.Errorf("%s: %w", theirs[i].Name, err)
	}
	if d.rand.IntN(3) == 0 {
		ourStatement.Discard()
		set = eventSeries(queue, testbed.OurSeries)
		theirStatement.Discard()
		if err := d.afterMove(queue, set); err != nil {
			return fmt.Errorf("%s, discarded: %w", theirs[i].Name, err)
		}
	}
	return nil
}

// afterMove compares the metrics and accounts that an event changes.
func (d *differential) afterMove(queue string, ours map[string]float64) error {
	for name, value := range eventSeries(queue, testbed.TheirSeries) {
		if ours[name] != value {
			return fmt.Errorf("metric %s: upstream %v, ours %v", name, value, ours[name])
		}
	}
	if d.name == session.CapacityName && d.cluster.Hierarchy {
		d.mendShares(queue)
	}
	if err := d.compareReserved(); err != nil {
		return err
	}
	for _, name := range d.queues {
		q := d.own.Index.Lookup(name)
		theirs, ours := d.upstream.account(name, "allocated"), d.withoutDevices(d.own.Intake.Dims.Resource(d.own.Index.Allocated(q)))
		if !close(theirs, ours, true) {
			return fmt.Errorf("allocated of %s is upstream <%v>, ours <%v>", name, theirs, ours)
		}
		if err := d.check("share of "+name, d.upstream.share(name), d.own.Index.Share(q)); err != nil {
			return err
		}
	}
	return d.compareDevices(false)
}

// eventSeries are the series that an event in a queue sets.
func eventSeries(queue string, series func(string) map[string]float64) map[string]float64 {
	values := map[string]float64{}
	for _, name := range []string{"allocated_milli_cpu", "allocated_memory_bytes", "allocated_scalar_resources", "share"} {
		for labels, value := range series(name) {
			if labels == queue || strings.HasPrefix(labels, queue+" ") {
				values[name+" "+labels] = value
			}
		}
	}
	return values
}

// enqueue compares JobEnqueueable for a random job. One of three permitted jobs is
// enqueued; another plugin refuses the rest.
func (d *differential) enqueue() error {
	var ids []api.JobID
	for id, job := range d.theirs.Jobs {
		if job.IsPending() {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	id := ids[d.rand.IntN(len(ids))]
	theirs, ours := d.theirs.Jobs[id], d.ours.Jobs[id]
	path := append([]string{string(theirs.Queue)}, d.ancestorNames(string(theirs.Queue))...)
	old := map[string]*api.Resource{}
	for _, name := range path {
		old[name] = d.upstream.account(name, "inqueue").Clone()
	}
	permitted := false
	if guard(func() { permitted = d.theirs.JobEnqueueable(theirs) }) {
		d.excuse(saturates) // evictions have left less allocated than elastic
		return nil
	}
	if !permitted && d.hasPods(theirs) && d.ours.JobEnqueueable(ours) {
		d.excuse(ownPodsOnce)
		return nil
	}
	if _, known := d.deviceQuota(path[0]); permitted && !known && theirs.PodGroup.Spec.MinResources == nil && d.devices && !d.ours.JobEnqueueable(ours) {
		d.excuse(claimsExact) // only an ancestor has a quota of devices
		return d.mendPromised(claimsExact)
	}
	if err := d.check(fmt.Sprintf("JobEnqueueable(%s min %v)", id, theirs.GetMinResources()),
		permitted, d.ours.JobEnqueueable(ours)); err != nil {
		return err
	}
	if !permitted {
		return nil
	}
	if d.rand.IntN(3) > 0 {
		// Before v1.16, upstream has charged it already.
		for _, name := range path {
			d.upstream.setAccount(name, "inqueue", old[name])
		}
		if theirs.PodGroup.Spec.MinResources != nil && release.Built() < release.V116 {
			d.excuse(inqueueDecided)
		}
		if err := d.mendPromised(inqueueDecided); err != nil {
			return err
		}
		return d.compareInqueue(path)
	}
	d.theirs.JobEnqueued(theirs)
	d.ours.JobEnqueued(ours)
	theirs.PodGroup.Status.Phase = scheduling.PodGroupInqueue
	ours.PodGroup.Status.Phase = scheduling.PodGroupInqueue
	for i, name := range path {
		switch {
		case close(withoutPods(d.upstream.account(name, "inqueue")), d.inqueue(name), false):
			continue
		case !theirs.Allocated.IsEmpty(): // the engine reserves the part that is not allocated yet
			d.excuse(inqueueUnit)
		case i > 0 && d.overRoom(path[:i]):
			d.excuse(boundedInqueue)
		default:
			continue
		}
		d.upstream.setAccount(name, "inqueue", d.inqueue(name))
	}
	intended := ""
	if _, known := d.deviceQuota(path[0]); !known {
		intended = claimsExact // upstream charges no ancestor
	} else if d.hasPods(theirs) {
		intended = ownPodsOnce
	}
	if err := d.mendPromised(intended); err != nil {
		return err
	}
	return d.compareInqueue(path)
}

// hasPods reports whether a job has something of its minimum.
func (d *differential) hasPods(job *api.JobInfo) bool {
	for status, tasks := range job.TaskStatusIndex {
		for _, task := range tasks {
			if api.AllocatedStatus(status) && len(d.claims[task.Name]) > 0 {
				return true
			}
		}
	}
	return !job.Allocated.IsEmpty()
}

// overRoom reports whether some queue has reserved more than it has room for.
func (d *differential) overRoom(queues []string) bool {
	return slices.ContainsFunc(queues, func(name string) bool {
		ix, q := d.own.Index, d.own.Index.Lookup(name)
		for dim := range ix.Inqueue.Row(q).Requested() {
			if ix.Inqueue.Row(q).Get(dim) > ix.RealCapability.Row(q).Get(dim)-ix.Allocated(q).Get(dim)+ix.Elastic.Row(q).Get(dim) {
				return true
			}
		}
		return false
	})
}

func (d *differential) ancestorNames(queue string) []string {
	var names []string
	for _, q := range d.own.Index.Path(d.own.Index.Lookup(queue))[1:] {
		names = append(names, d.own.Index.Name(q))
	}
	return names
}

func (d *differential) compareInqueue(path []string) error {
	for _, name := range path {
		d.answers++
		theirs, ours := withoutPods(d.upstream.account(name, "inqueue")), d.inqueue(name)
		if !close(theirs, ours, false) {
			return fmt.Errorf("inqueue of %s is upstream <%v>, ours <%v>", name, theirs, ours)
		}
	}
	return nil
}
