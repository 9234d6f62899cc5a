// Package oracle is the rules of package quota once more, in the slowest and
// plainest Go: maps instead of vectors, names instead of numbers, and every sum
// added up again whenever somebody asks. Fuzz targets hold the engine against
// it. It shares no code with the engine, which a test enforces, so an error
// would have to be made twice to stay unseen.
//
// # Words
//
// Those of package quota. Quantities are in one unit per dimension, whichever
// the caller likes; cpu, memory and pods are the dimensions with rules of their
// own. A dimension that is not a key of an Amounts is absent, which is not the
// same as 0. A card is a dimension that Cluster.Cards names.
//
// # What it is not
//
// It reads no Kubernetes objects and keeps no snapshots: a what-if is a Clone.
package oracle
