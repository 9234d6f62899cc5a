package main

import (
	"fmt"
	"math"

	"golang.org/x/perf/benchmath"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// times formats a ratio: "21.1×".
func times(x float64) string { return number(x) + "×" }

// ratioWords formats a ratio with its interval: "21.1× (20.3–21.9)".
func ratioWords(m benchmath.Summary) string {
	if math.IsInf(m.Lo, 0) || math.IsInf(m.Hi, 0) {
		return times(m.Center) + " (too few rounds)"
	}
	return fmt.Sprintf("%s (%s–%s)", times(m.Center), number(m.Lo), number(m.Hi))
}

// percentWords formats a ratio with its interval: "1.6 % (1.3–2.0)".
func percentWords(m benchmath.Summary) string {
	if math.IsInf(m.Lo, 0) || math.IsInf(m.Hi, 0) {
		return fmt.Sprintf("%.1f %% (too few rounds)", 100*m.Center)
	}
	return fmt.Sprintf("%.1f %% (%.1f–%.1f)", 100*m.Center, 100*m.Lo, 100*m.Hi)
}

// number formats a number with three significant digits, or with all digits before the point, and with commas.
func number(x float64) string {
	switch a := math.Abs(x); {
	case a == math.Trunc(a) || a >= 100:
		return message.NewPrinter(language.English).Sprint(int64(math.RoundToEven(x)))
	case a >= 10:
		return fmt.Sprintf("%.1f", x)
	case a >= 1:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3f", x)
}

// quantity formats a value of a unit: "8.47 ms", "25.2 KiB", "37".
func quantity(x float64, unit string) string {
	switch unit {
	case timeUnit, processorUnit:
		return scaled(x*1e9, 1000, "ns", "µs", "ms", "s")
	case bytesUnit, keptUnit, heapUnit:
		return scaled(x, 1024, "B", "KiB", "MiB", "GiB")
	}
	return number(x)
}

func scaled(x, step float64, units ...string) string {
	i := 0
	for x >= step && i < len(units)-1 {
		x /= step
		i++
	}
	return number(x) + " " + units[i]
}
