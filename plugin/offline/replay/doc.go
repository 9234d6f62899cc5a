// Package replay runs a trace through real sessions of Volcano in virtual time, and measures the shares and waits of
// the queues.
//
// Time jumps from event to event: submissions, ends of pods, and one scheduling period after a session that has changed
// something. All events of an instant, and all events of less than a period, come before one session. There is no
// session while no pod waits. There is none either after a session that has only placed pods, if nobody is evicted and
// no rule depends on the time (spare.go): nothing could change. While pods wait and nothing happens, a session runs
// from time to time for rules that depend on the time.
//
// The content of the scheduler's cache lives as long as the replay. Only jobs and nodes that have changed are rebuilt
// before a session.
//
// The package plays user, kubelet and job controller. A job has its pods from its submission on. A pod runs from the
// session in which it gets its node, and ends after its runtime. An evicted pod leaves its node at once, and begins
// again from nothing as a new pod. A job that loses its minimum loses all its pods, and needs a new admission.
//
// Equal arguments give equal results. If Volcano leaves a choice to chance, such as between nodes of one score, the
// seed decides: order.go.
package replay
