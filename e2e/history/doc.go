// Package history records what an API server stores: every change of some kinds of objects, with the revision of etcd
// at which it was made. A Recorder follows one watch for each kind and resumes it where it ended, so that a cut loses
// nothing. Where the API server has discarded changes meanwhile, the record says so: a Gap, and the state after it.
//
// A history is a file of JSON lines, compressed. Each watch is in order of revision, and the watches are written as
// they arrive; Read sorts them. All kinds share the revisions of one etcd, so a history is one sequence of states of
// the cluster.
//
// Besides changes, a history has marks: what a test did to the cluster that no object shows, such as a process that was
// killed. Package check reads histories and says which rules they break.
package history
