// Package torture runs Volcano with our scheduler on a real control plane while everything around it fails: tenants and
// admins act at random, and faults are injected. It records what the API server stores, and has package check prove
// that the promises held at every revision.
//
// A run is a sequence of rounds, each with a seed of its own that draws the cluster, the configuration, what tenants
// and admins do, and the faults. A round ends with a cluster at rest. The draws repeat with the seed; the order in
// which processes act does not. So a finding comes with its history, which repeats it exactly (check.Run), and with its
// seed.
//
// Two schedulers run as processes of their own, with leader election, each behind a proxy of its own. They are started
// again when they end, as a Deployment would.
package torture
