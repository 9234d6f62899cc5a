package index

import "github.com/capacity-card/capacity-card/fastres"

// Names gives every resource name a dimension. A name keeps its dimension for
// the life of the Names, across sessions; names are never forgotten, as a
// cluster has few. The zero Names is ready for use.
type Names struct {
	dims  map[string]fastres.Dim
	names []string
}

// The names of the dimensions that fastres fixes, in their order.
var fixedNames = [fastres.FirstFree]string{fastres.CPU: "cpu", fastres.Memory: "memory", fastres.Pods: "pods"}

// Intern returns the dimension of name, a new one if it was never seen.
func (n *Names) Intern(name string) fastres.Dim {
	if d, ok := n.dims[name]; ok {
		return d
	}
	if n.dims == nil {
		n.dims = make(map[string]fastres.Dim)
		for _, fixed := range fixedNames {
			n.add(fixed)
		}
		return n.Intern(name)
	}
	return n.add(name)
}

func (n *Names) add(name string) fastres.Dim {
	d := fastres.Dim(len(n.names))
	n.dims[name] = d
	n.names = append(n.names, name)
	return d
}

// Lookup returns the dimension of name, and whether it was ever seen. It is
// safe for many goroutines as long as nobody interns.
func (n *Names) Lookup(name string) (fastres.Dim, bool) {
	d, ok := n.dims[name]
	return d, ok
}

// Name returns the name of a dimension that is fixed or that Intern returned.
func (n *Names) Name(d fastres.Dim) string {
	if d < fastres.FirstFree {
		return fixedNames[d]
	}
	return n.names[d]
}

// Len is the number of dimensions handed out, those that fastres fixes included.
func (n *Names) Len() int { return max(len(n.names), int(fastres.FirstFree)) }
