// Package torture runs Volcano with our scheduler on a real control plane. Tenants and admins act at random, and faults
// are injected. The package records the objects that the API server stores. Package check then proves that the promises
// held at every revision.
//
// A run is a sequence of rounds. The seed of a round draws the cluster, the configuration, the actions of tenants and
// admins, and the faults. A round ends with a cluster at rest. The draws repeat with the seed, but the order in which
// processes act does not. Therefore a finding comes with its seed and its history. The history repeats it exactly
// (check.Run).
//
// Two schedulers run as separate processes with leader election, each behind its own proxy. They restart when they end,
// as in a Deployment.
package torture
