package differential_test

import (
	"reflect"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// upstreamPlugin reads and corrects the private accounts of upstream's capacity and
// proportion plugins. A correction keeps an intended difference from showing again in
// every answer that follows from it.
type upstreamPlugin struct {
	queues   reflect.Value
	reserved map[api.QueueID]map[api.TaskID]*api.TaskInfo // nil before v1.15, and in proportion
}

func examine(p framework.Plugin) upstreamPlugin {
	fields := reflect.ValueOf(p).Elem()
	u := upstreamPlugin{queues: testbed.Settable(fields.FieldByName("queueOpts"))}
	if reserved := fields.FieldByName("queueGateReservedTasks"); reserved.IsValid() {
		u.reserved = testbed.Settable(reserved).Interface().(map[api.QueueID]map[api.TaskID]*api.TaskInfo)
	}
	return u
}

// names returns the queues that upstream has accounts of, sorted.
func (u upstreamPlugin) names() []string {
	var names []string
	for _, key := range u.queues.MapKeys() {
		names = append(names, key.String())
	}
	slices.Sort(names)
	return names
}

func (u upstreamPlugin) field(queue, name string) reflect.Value {
	attr := u.queues.MapIndex(reflect.ValueOf(api.QueueID(queue)))
	return testbed.Settable(attr.Elem().FieldByName(name))
}

func (u upstreamPlugin) has(queue string) bool {
	return u.queues.MapIndex(reflect.ValueOf(api.QueueID(queue))).IsValid()
}

// account returns a vector of a queue, for reading and changing.
func (u upstreamPlugin) account(queue, name string) *api.Resource {
	return u.field(queue, name).Interface().(*api.Resource)
}

func (u upstreamPlugin) setAccount(queue, name string, r *api.Resource) {
	u.field(queue, name).Set(reflect.ValueOf(r))
}

func (u upstreamPlugin) share(queue string) float64 { return u.field(queue, "share").Float() }

func (u upstreamPlugin) setShare(queue string, share float64) {
	u.field(queue, "share").SetFloat(share)
}

// ancestors returns the ancestors of a queue, the root first.
func (u upstreamPlugin) ancestors(queue string) []api.QueueID {
	return u.field(queue, "ancestors").Interface().([]api.QueueID)
}

// unshareAncestors gives every queue a slice of its own. Upstream appends to slices
// that several queues share, which changes the ancestors of the others.
func (u upstreamPlugin) unshareAncestors() {
	for _, queue := range u.names() {
		u.field(queue, "ancestors").Set(reflect.ValueOf(slices.Clip(slices.Clone(u.ancestors(queue)))))
	}
}
