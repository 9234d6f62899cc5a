package intake

import "volcano.sh/volcano/pkg/scheduler/framework"

// nodes compares the nodes of a session with the nodes of the session before. The zero nodes is ready.
type nodes struct {
	names   map[string]struct{} // of the session, nil at first
	left    bool                // a node of the session before is not there
	arrived bool                // a node was not there in the session before
}

// update reads the nodes of a session. It allocates only if they have changed.
func (n *nodes) update(ssn *framework.Session) {
	remain := 0
	for name := range n.names {
		if _, ok := ssn.Nodes[name]; ok {
			remain++
		}
	}

	n.left = remain < len(n.names)
	n.arrived = remain < len(ssn.Nodes)
	if !n.left && !n.arrived {
		return
	}

	n.names = make(map[string]struct{}, len(ssn.Nodes))
	for name := range ssn.Nodes {
		n.names[name] = struct{}{}
	}
}
