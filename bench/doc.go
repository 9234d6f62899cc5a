// Package bench measures the engine against upstream's capacity plugin, which is
// imported as it is: on the same input, in the same run. Its benchmarks are in test
// files. Packages workload and cluster make their input.
//
//	make bench             measure for an hour and write BENCHMARKS.md
//	make bench MODE=full   the same, and larger clusters in three of the rounds
//	make bench MODE=check  exit 1 where a goal is missed
//
// One benchmark by hand, and its rows paired:
//
//	go test ./bench -run '^$' -bench Allocatable -count 10 | go tool benchstat -col /impl -
//
// # Names
//
// A name has keys. The last key is impl: upstream, ours, or none. None has no
// quota plugin, or a plugin that permits everything. The rest is the input: shape (package
// workload), queues, and so on. BenchmarkGrowth has one operation for several
// sizes. The whole cycles with session=first need a process each, and are
// skipped in a process that has done other things.
//
// # What is measured
//
// Operations are called through the session. The plugin is alone in it, so
// Volcano's own dispatch costs all the same. Before a measurement the answer is checked. A
// benchmark fails if the answer differs from its name, or between the implementations.
//
// The flag -full adds operations that take long. -log 3 turns on the log at that verbosity, and
// discards its lines.
package bench
