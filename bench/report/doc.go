// Command report measures the engine against upstream's plugins and writes the
// results. From the root of the module:
//
//	go run ./bench/report                 write BENCHMARKS.md and the picture of README.md from the raw output
//	go run ./bench/report -measure quick  measure first (make bench)
//	go run ./bench/report -measure full   the same, and larger clusters in three rounds, with 22 GiB
//	                                      (make bench MODE=full)
//	go run ./bench/report -measure check  measure the goals, and exit 1 if one is missed (make bench MODE=check)
//	go run ./bench/report -measure peers  measure the quota engines of other schedulers, and write
//	                                      docs/dev/PEERS.md (make bench-peers)
//
// Measuring goes in rounds. Each round runs every benchmark once, so that changes of the load of
// the machine affect all implementations equally. The raw output is in
// the format of go test -bench, with the commit and the command of each process as
// configuration lines; benchstat reads it, too. A machine that is busy, or that changes its speed, is refused.
//
// # Words
//
// A series is all the results of one benchmark name, in the order of the rounds. A
// ratio is how many times more the base takes than ours. Each round gives one ratio, and the report
// has their median with its confidence interval of 95 % (package
// benchmath, which assumes nothing of the distribution and needs six rounds). A goal
// is a bound on a ratio, a time, the exponent of a growth, or on allocations. Its verdict
// follows benchstat: p < 0.05, with ten rounds.
package main
