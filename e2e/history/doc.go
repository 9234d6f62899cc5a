// Package history records the changes that an API server stores: every change of some kinds of objects, with its
// revision of etcd. A Recorder follows one watch for each kind. It resumes a watch where it ended, so a broken
// connection loses no change. If the API server has discarded changes meanwhile, the history has a Gap, and the state
// after it.
//
// A history is a file of JSON lines, compressed. Each watch is in order of revision, and the watches are written as
// they arrive; Read sorts them. All kinds share the revisions of one etcd, so a history is one sequence of states of
// the cluster.
//
// A history also has marks. They are actions of a test that no object shows, such as a killed process. Package check
// reads histories and reports the rules that they break.
package history
