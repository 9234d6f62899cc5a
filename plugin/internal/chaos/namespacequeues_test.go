package chaos

import (
	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/internal/world"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// namespaceQueues makes NamespaceQueues of queues of some trees, where the release knows them: of those that are ever
// below another queue than the root, and of some others. So no Queue is below a NamespaceQueue.
func (d *draw) namespaceQueues() {
	if !release.KnowsNamespaceQueues() || !d.s.Tree || d.chance(60) {
		return
	}
	names := map[string]string{}
	for _, act := range d.s.Acts {
		set, is := act.Deed.(world.SetQueue)
		if is && set.Name != index.RootName && !set.Hollow && (set.Parent != "" && set.Parent != index.RootName || d.chance(30)) {
			names[set.Name] = cluster.Namespace + "/" + set.Name
		}
	}
	rename := func(name *string) {
		if renamed := names[*name]; renamed != "" {
			*name = renamed
		}
	}
	for i := range d.s.Acts {
		switch deed := d.s.Acts[i].Deed.(type) {
		case world.SetQueue:
			rename(&deed.Name)
			rename(&deed.Parent)
			d.s.Acts[i].Deed = deed
		case world.EditQueue:
			rename(&deed.Queue)
			d.s.Acts[i].Deed = deed
		case world.DeleteQueue:
			rename(&deed.Queue)
			d.s.Acts[i].Deed = deed
		case world.SubmitJob:
			rename(&deed.Queue)
			d.s.Acts[i].Deed = deed
		}
	}
}
