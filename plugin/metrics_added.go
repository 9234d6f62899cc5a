package plugin

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// The series that Volcano does not have, in the units of its own: thousandths of
// cores, bytes, thousandths of anything else. Volcano drops none of them when a
// queue goes, see dropAdded.
var (
	inqueueVecs = vecsOf("inqueue", "Inqueue") // promised to jobs that wait for their pods to be placed
	leafVec     = vecOf("leaf", "1 if a queue can have jobs, 0 if it has queues below it")
	problemsVec = vecOf("card_annotation_problems", "How many things are wrong with the card annotations of one queue")

	clusterVecs = accountVecs{
		cpu:    gaugeVec("cluster_milli_cpu", "CPU count of the cluster"),
		memory: gaugeVec("cluster_memory_bytes", "Memory of the cluster"),
		scalar: gaugeVec("cluster_scalar_resources", "Scalar resources of the cluster", "resource"),
	}
	// Cards have a name of their own here, as those of resources do not tell them apart.
	clusterCards = gaugeVec("cluster_cards", "Cards of the cluster", "resource")
)

// publishCluster sets the series of what the cluster has. A card that is gone
// stays, with 0.
func (o *session) publishCluster(total fastres.Vector) {
	gauges := &o.clusterGauges
	if n := total.Len() - len(*gauges); n > 0 {
		*gauges = append(*gauges, make(accountGauges, n)...)
	}
	(*gauges)[fastres.CPU].set(total.Get(fastres.CPU), clusterVecs.cpu)
	(*gauges)[fastres.Memory].set(total.Get(fastres.Memory), clusterVecs.memory)
	for d := fastres.Pods; int(d) < min(total.Len(), o.names.Len()); d++ {
		if g := &(*gauges)[d]; total.Has(d) || g.series != nil {
			vec := clusterVecs.scalar
			if o.names.IsCard(d) {
				vec = clusterCards
			}
			g.set(total.Get(d), vec, o.names.Name(d))
		}
	}
}

// forgetCluster drops the series of scalars whose names get other dimensions.
func (m *memory) forgetCluster(names *index.Names) {
	for d := int(fastres.FirstFree); d < min(len(m.clusterGauges), names.Len()); d++ {
		clusterVecs.scalar.DeleteLabelValues(names.Name(fastres.Dim(d)))
		clusterCards.DeleteLabelValues(names.Name(fastres.Dim(d)))
	}
	m.clusterGauges = slices.Clone(m.clusterGauges[:min(len(m.clusterGauges), int(fastres.FirstFree))])
}

func (g *queueGauges) setLeaf(leaf bool) {
	value := 0.0
	if leaf {
		value = 1
	}
	g.leaf.set(value, leafVec, g.name)
}

// setInqueue publishes what is promised. It has series of its own for scalars that
// no other account has, and adds none to those.
func (g *queueGauges) setInqueue(x fastres.Vector, names *index.Names) {
	if n := x.Len() - len(g.inqueue); n > 0 {
		g.inqueue = append(g.inqueue, make(accountGauges, n)...)
	}
	g.inqueue[fastres.CPU].set(x.Get(fastres.CPU), inqueueVecs.cpu, g.name)
	g.inqueue[fastres.Memory].set(x.Get(fastres.Memory), inqueueVecs.memory, g.name)
	for d := fastres.Pods; int(d) < min(x.Len(), names.Len()); d++ {
		if each := &g.inqueue[d]; each.series != nil || x.Get(d) != 0 {
			each.set(x.Get(d), inqueueVecs.scalar, g.name, names.Name(d))
		}
	}
}

// forgetInqueue drops the series of scalars, for a queue that was made anew or names
// that get other dimensions.
func (g *queueGauges) forgetInqueue() {
	inqueueVecs.scalar.DeletePartialMatch(prometheus.Labels{"queue_name": g.name})
	g.inqueue = slices.Clone(g.inqueue[:min(len(g.inqueue), int(fastres.Pods))])
}

// chargeInqueue charges what was promised to a job, and sets the series of it.
func (o *session) chargeInqueue(q index.Queue, promise fastres.Vector) {
	quota.ChargeInqueue(o.ix, q, promise)
	for _, p := range o.ix.Path(q) {
		if o.queues[p] == nil {
			continue // a root that is made up
		}
		g, x := o.gaugesOf(p), o.ix.Inqueue.Row(p)
		for d := range promise.Present() {
			if int(d) >= len(g.inqueue) || g.inqueue[d].series == nil {
				g.setInqueue(x, &o.names)
				break
			}
			g.inqueue[d].update(x.Get(d))
		}
	}
}

// dropAdded drops the series of a queue that is gone.
func dropAdded(queue string) {
	of := prometheus.Labels{"queue_name": queue}
	inqueueVecs.cpu.Delete(of)
	inqueueVecs.memory.Delete(of)
	inqueueVecs.scalar.DeletePartialMatch(of)
	leafVec.Delete(of)
	problemsVec.Delete(of)
}
