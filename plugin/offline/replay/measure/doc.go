// Package measure adds up what a replay shows: cards over time, waits, lock-outs, fairness and lost
// work. It knows no scheduler: all it gets are times, names and numbers.
package measure
