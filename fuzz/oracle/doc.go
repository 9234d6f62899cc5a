// Package oracle is a second implementation of the rules of package quota, in plain and slow
// Go: maps instead of vectors, names instead of numbers, and every sum computed on each
// call. Fuzz targets compare the engine with it. It shares no code with the engine, which
// TestLayers enforces. So an error stays undetected only if both have it.
//
// # Words
//
// The words have the same meaning as in package quota. The caller chooses the unit of each
// dimension. cpu, memory and pods have special rules. A dimension that is no key of an Amounts is
// absent, which is not the same as 0. A card is a dimension that Cluster.Cards names.
//
// # Limits of the package
//
// The oracle reads no Kubernetes objects and keeps no snapshots: a simulation works on a Clone.
package oracle
