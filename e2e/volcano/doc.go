// Package volcano runs the end-to-end suites of Volcano's own repository, once with Volcano's scheduler and once with
// ours, in several configurations, and compares them spec by spec. It fails if a spec passes with Volcano's scheduler
// and fails with ours. All code is test code.
//
// The suites are built from the Volcano module of go.mod and are not changed. Each run has a separate control plane in
// a separate process: an API server, the controllers of Kubernetes and Volcano, kube-scheduler, Volcano's webhooks and
// a simulated kubelet. Its pods end as their commands do. Suites spend most of their time waiting, so several run at
// the same time.
//
// The outcomes go to e2e/volcano/results, and from there to docs/volcano-e2e.md.
package volcano
