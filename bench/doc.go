// Package bench measures the engine against upstream's capacity plugin, which is
// imported as it is: on the same input, in the same run. Its benchmarks are in test
// files; what they are measured on is in packages workload and cluster.
//
//	make bench             measure for an hour and write BENCHMARKS.md
//	make bench MODE=full   the same, and larger clusters in three of the rounds
//	make bench MODE=check  exit 1 where a goal is missed
//
// One benchmark by hand, and its rows paired:
//
//	go test ./bench -run '^$' -bench Allocatable -count 6 | go tool benchstat -col /impl -
//
// # Names
//
// A name has keys, impl the last of them: upstream, ours, or none, where there is no
// quota plugin or one that permits everything. The rest is the input: shape (package
// workload), queues, and so on. BenchmarkGrowth has one operation for several sizes
// of one thing. The whole cycles with session=first need a process each, and are
// skipped in a process that has done other things.
//
// # What is measured
//
// Operations are called through the session, on which the plugin is alone, so that
// Volcano's own dispatch costs all the same. Before anything is measured the answer
// is looked at: a benchmark fails where it is not the one that its name promises, or
// not the same from both implementations.
//
// The flag -full adds what takes long; -log 3 has the log on at that verbosity, with
// its lines thrown away.
package bench
