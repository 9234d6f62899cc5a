// Package fuzz holds fuzz targets of the engine, without a scheduler around it,
// and their corpora. Bytes decide what is drawn (workload.Bytes), so every input
// is a cluster and a stream of events, and a fuzzer that changes one byte
// changes one decision. Targets that need a session of Volcano are beside the
// code of package plugin.
//
//	FuzzOracle      every rule against package oracle, after every event
//	FuzzInvariants  what must hold whatever happens, see invariants_test.go
//	FuzzCards       the rules of cards against package oracle
//	FuzzUndo        what-ifs that are undone leave nothing behind
//	FuzzClones      what-ifs side by side do not see one another
//	FuzzTree        numbers and paths of queues, cycles and orphans included
//
// make fuzz runs all targets of the module.
package fuzz
