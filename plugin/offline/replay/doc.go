// Package replay runs a trace through real sessions of Volcano in virtual time, and measures what the
// queues get.
//
// Time jumps from event to event: submissions, ends of pods, and one scheduling period after a session that has changed
// something. All events of an instant come before one session, and so do those of less than a period. There is no
// session while no pod waits, nor after one that has only placed pods where nobody is evicted and no rule depends on
// the time (spare.go), because nothing could change. While pods wait and nothing happens, a session is held from time
// to time for rules that depend on the time.
//
// What the scheduler's cache holds lives as long as the replay. Only jobs and nodes that have changed are
// made anew before a session.
//
// The package plays user, kubelet and job controller: a job has its pods from its submission on, a pod
// runs from the session in which it gets its node, and it ends after its runtime. An evicted pod leaves
// its node at once, and begins again from nothing as a new pod. A job that loses its minimum loses all its
// pods, and is admitted anew.
//
// Equal arguments give equal results. Where Volcano leaves a choice to chance, such as that between nodes
// of one score, the seed decides: order.go.
package replay
