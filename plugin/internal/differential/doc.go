// Package differential compares the plugins capacity and proportion with upstream's plugins of these names. It has
// tests alone.
//
//	differential_test.go  TestDifferential, the intended differences, and the two sessions of one cluster
//	cluster_test.go       clusters that stop upstream, and how they are mended for it
//	open_test.go          accounts and series when the sessions open
//	events_test.go        random events, and the answers of all hooks after them
//	gates_test.go         queue allocation gates
//	devices_test.go       quotas of device classes
//	upstream_test.go      the private accounts of upstream's plugins
//	fuzz_test.go          the same with clusters and events from bytes: FuzzCapacity and FuzzProportion
//	vectors_test.go       FuzzVectors compares package fastres with api.Resource
//	weights_test.go       weights of flat queues in both plugins
//
// Run 10,000 clusters for each plugin:
//
//	go test ./plugin/internal/differential -run TestDifferential -v -timeout 60m -clusters 10000
//
// A difference prints its seed. -seed N -clusters 1 runs this cluster alone.
package differential
