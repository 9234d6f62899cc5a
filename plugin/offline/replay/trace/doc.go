// Package trace reads traces of clusters: when users submitted jobs, how large they were, and how
// long they ran. It knows the canonical CSV and the formats of public traces, and draws made traces.
//
// A trace has what users want, and not what their scheduler decided: who started when, and where, is
// left out. It says nothing of the cluster either; package replay needs nodes and queues beside it.
package trace
