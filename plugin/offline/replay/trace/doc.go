// Package trace reads traces of clusters: when users submitted jobs, how large the jobs were, and how long they ran. It
// knows the canonical CSV and the format of HeliosData, and draws made traces.
//
// A trace has the wishes of users, and not the decisions of their scheduler: it leaves out when and where a job
// started. It does not describe the cluster either. Package replay needs nodes and queues as well.
package trace
