// Package measure adds up the events of a replay: cards over time, waits, lock-outs, fairness and lost work. It knows
// no scheduler, only times, names and numbers.
package measure
