package plan

import "github.com/capacity-card/capacity-card/quota"

// explain returns why a pod gets no node: the resources that it lacks on the node where it lacks least.
func (s *search) explain(pod int) *Failure {
	failure := &Failure{Pod: pod, Node: None, Verdict: quota.Verdict{Reason: quota.Admitted}}
	least := 0.0
	before := len(s.steps)
	taken := map[Victim]bool{}
	for node := range s.Nodes {
		if s.Accounts.Charged(pod, node) == None || !s.canRun(pod, node) {
			continue
		}

		// Evict all units that are allowed. The rest is missing.
		s.makeRoom(pod, node)
		lacks, missing := s.lacks(pod, node)
		if failure.Node == None || missing < least {
			least = missing
			failure.Node = node
			failure.Lacks = lacks
			failure.Verdict = s.Accounts.Explain(pod, node)
		}
		s.addGone(taken)
		s.undo(before)
	}

	failure.Spared = s.spared
	if failure.Node != None {
		s.addMinimums(pod, failure, taken)
	}

	return failure
}

// lacks returns the quantities that a pod lacks on a node, by resource, and the sum of their fractions of the requests.
func (s *search) lacks(pod, node int) (lacks []float64, missing float64) {
	lacks = make([]float64, len(s.Pods[pod].Requests))
	for r, requested := range s.Pods[pod].Requests {
		if s.lacksOn(pod, node, r) {
			lacks[r] = requested - s.free[node][r]
			missing += lacks[r] / requested
		}
	}

	return lacks, missing
}

// addGone adds the candidates that are evicted in the present state.
func (s *search) addGone(all map[Victim]bool) {
	for j := range s.jobs {
		for candidate, gone := range s.jobs[j].gone {
			if gone {
				all[Victim{j, candidate}] = true
			}
		}
	}
}

// addMinimums adds the pods on the node of a failure that would help, but that their jobs need. Pods in taken may be
// evicted.
func (s *search) addMinimums(pod int, failure *Failure, taken map[Victim]bool) {
	for j := range s.Jobs {
		for candidate := range s.Jobs[j].Pods {
			victim := Victim{j, candidate}
			_, known := failure.Spared[victim]
			if known || taken[victim] || s.Jobs[j].Pods[candidate].Fixed {
				continue
			}
			if s.helps(pod, failure.Node, victim) {
				failure.Spared[victim] = ByMinimum
			}
		}
	}
}
