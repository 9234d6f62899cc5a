// Package serve shows the queues and cards of a cluster in a browser: "cardctl serve". It only
// reads.
//
// A keeper reads the cluster through a model.Source, has the engine make a model of each
// reading, and keeps the last one. Handlers answer from that model, so that a slow reading
// delays no page. Server-sent events name the number of the model; a browser that gets one
// loads its page again.
//
// # Access
//
// Each view has an HTML page and the same as JSON. The Viewer in the context of a request decides
// which parts it may see:
//
//	Viewer.Queues     the queues: their quotas and their cards, cards, history
//	Viewer.Nodes      nodes by name
//	Viewer.Namespace  the jobs of a namespace by name; jobs of other namespaces appear as sums only
//
// Options.Access is the middleware that authenticates a request, and puts the Viewer into its
// context with WithViewer. Without it, as on a loopback address, everyone sees everything. With
// it, a request without a Viewer sees nothing. The paths /livez and /readyz, which show nothing
// of the cluster, and the assets are outside of it.
//
// The path /names suggests names for fields. The path /whatif/progress.json returns the progress of a simulation to
// clients that know the name that its page gave it. Both answer viewers who may see queues.
//
// Code that shows a job by its name asks seen, in viewer.go, and nothing else. Views that show
// queues are routed through queuesOnly.
package serve
