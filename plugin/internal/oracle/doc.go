// Package oracle compares sessions of the plugin with the oracle (fuzz/oracle), which follows the documentation and
// shares no code with the engine. It has tests alone.
//
//	session_test.go        FuzzSession: accounts and answers of one session, after each event
//	random_test.go         TestRandomSessions: the same with random bytes
//	displacement_test.go   admission and displaced jobs
//	holders_test.go        limits of the holders of jobs
//	reclaim_test.go        victims and their order
//	cards_test.go          TestRandomCards and FuzzCards: the cards of all pods, counted again
//	claims_test.go         resource claims, as package testbed models them
//	claims_random_test.go  TestRandomClaims and FuzzClaims: random claims over several sessions
//
// Run 100,000 sessions:
//
//	go test ./plugin/internal/oracle -run TestRandomSessions -timeout 60m -sessions 100000
//
// A difference prints its seed. -seed N -sessions 1 runs this session alone.
package oracle
