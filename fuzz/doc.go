// Package fuzz holds the fuzz targets of the engine, without a scheduler, and their
// corpora. The bytes of an input draw the objects (workload.Bytes). So every input is a
// cluster with a sequence of events, and a fuzzer that changes one byte changes one
// decision. Targets that need a session of Volcano are in package plugin.
//
//	FuzzOracle            every rule against package oracle, after every event
//	FuzzInvariants        inequalities that hold after every event
//	FuzzGates             reservations against package oracle, and that they have room
//	FuzzCards             the rules of cards, and assignments, against package oracle
//	FuzzGroups            accounts of groups of cards, and assignments within their bounds, against package oracle
//	FuzzProportionRounds  inequalities of deserved by rounds
//	FuzzUndo              simulations that are undone leave no trace
//	FuzzClones            concurrent simulations are independent of one another
//	FuzzTree              numbers and paths of queues, with cycles and unknown parents
//	FuzzPlaces            trees from annotations against package oracle
//	FuzzPlace             annotations with any text
//
// make fuzz runs all targets of the module.
package fuzz
