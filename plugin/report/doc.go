// Package report turns the decisions of the rules into what people and programs
// read: reasons, events, conditions and metrics. It decides nothing.
//
// # Terms
//
//	refusal   a negative verdict and the request that it is about
//	reason    why a job or task waits, as a value that cardctl prints as well
//	shortage  a bound that the request does not fit under
//	journal   the last reported reason of each waiting job
//
// # Example
//
// research has a quota of 3 NVIDIA-H200 and uses 2; a pod requests 2 more. The
// refusal {OverQuota, research} of 2000 milli-cards becomes the reason
//
//	Queue <research> has insufficient <NVIDIA-H200> quota: requested <2>,
//	total would be <4>, but capability is <3>
//
// which the job's condition and one event on its PodGroup show, until the reason
// is another one.
package report
