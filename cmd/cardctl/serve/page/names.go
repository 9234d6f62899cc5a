package page

import (
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Objects finds the objects that have pages.
type Objects interface {
	HasQueue(name string) bool
	// HasNode reports whether the page Cards has a node.
	HasNode(name string) bool
	// PodGroup returns the name of the PodGroup of a job, "" for none.
	PodGroup(namespace, owner string) string
}

// Named is a name of an object, with the address of its page. The address is "" for names that the viewer may not
// see, and for objects that do not exist.
type Named struct{ Name, Link string }

// QueueName is the name of a queue.
func (f *Frame) QueueName(name string) Named {
	n := Named{Name: name}
	if f.Queues && f.Objects != nil && f.Objects.HasQueue(name) {
		n.Link = f.QueueLink(name)
	}
	return n
}

// QueueLink is the address of the page of a queue.
func (f *Frame) QueueLink(name string) string {
	return address(f.Root("/queue/")+url.PathEscape(name), f.query())
}

// JobName is the name of a job. owner starts with its kind.
func (f *Frame) JobName(namespace, owner string) Named {
	n := Named{Name: namespace + "/" + short(owner)}
	if f.Objects == nil {
		return n
	}

	if group := f.Objects.PodGroup(namespace, owner); group != "" {
		n.Link = f.JobLink(namespace, group)
	}
	return n
}

// NodeName is the name of a node.
func (f *Frame) NodeName(name string) Named {
	n := Named{Name: name}
	if f.Queues && f.Objects != nil && f.Objects.HasNode(name) {
		n.Link = f.Link("/cards", "node", name) + "#node-" + url.PathEscape(name)
	}
	return n
}

// OwnerName is the name of a job. path starts with its namespace.
func (f *Frame) OwnerName(path string) Named {
	namespace, owner, _ := strings.Cut(path, "/")
	n := f.JobName(namespace, owner)
	n.Name = path
	return n
}

// GroupName is the name of the owner of a PodGroup. group starts with its namespace.
func (f *Frame) GroupName(group, owner string) Named {
	namespace, _, _ := strings.Cut(group, "/")
	n := f.JobName(namespace, owner)
	n.Name = short(owner)
	return n
}

// ObjectName is the name of an object of any kind, as validate has it: Kind/name or
// Kind/namespace/name.
func (f *Frame) ObjectName(object string) Named {
	kind, name, _ := strings.Cut(object, "/")
	n := Named{Name: object}

	switch kind {
	case "":
	case "Queue":
		n.Link = f.QueueName(name).Link
	case "Node":
		n.Link = f.NodeName(name).Link
	default:
		namespace, short, found := strings.Cut(name, "/")
		if !found {
			// The object is in the default namespace.
			namespace = metav1.NamespaceDefault
			short = name
		}
		n.Link = f.JobName(namespace, kind+"/"+short).Link
	}
	return n
}
