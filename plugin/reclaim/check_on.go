//go:build invariants

package reclaim

import (
	"fmt"
	"reflect"
)

// check panics if a snapshot differs from one of all pods, in builds with the tag "invariants".
func (snap *snapshot) check(s *Rules) {
	all := &snapshot{resources: snap.resources, lists: snap.lists, nodes: snap.nodes, deepest: snap.deepest}
	all.read(s)
	if !reflect.DeepEqual(snap.free, all.free) || len(snap.jobs) != len(all.jobs) || snap.classes != all.classes {
		panic(fmt.Sprintf("plugin: the renewed snapshot is %+v, by all pods %+v", snap, all))
	}
	for j := range all.jobs {
		if !reflect.DeepEqual(snap.jobs[j].Job, all.jobs[j].Job) {
			panic(fmt.Sprintf("plugin: the renewed job is %+v, by all pods %+v", snap.jobs[j].Job, all.jobs[j].Job))
		}
	}
}
