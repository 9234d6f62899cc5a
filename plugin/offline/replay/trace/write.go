package trace

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Write writes jobs as canonical CSV.
func Write(out io.Writer, jobs []Job) error {
	// The writer keeps the first error for Flush.
	w := bufio.NewWriter(out)
	fmt.Fprintln(w, "job,submit,runtime,queue,namespace,pods,minimum,cards,card,cpu,memory_gib,priority")

	for i := range jobs {
		j := &jobs[i]
		fmt.Fprintln(w, strings.Join([]string{
			j.Name,
			decimal(j.Submit.Seconds()),
			decimal(j.Runtime.Seconds()),
			j.Queue,
			j.Namespace,
			strconv.Itoa(j.Pods),
			strconv.Itoa(j.Minimum),
			strconv.FormatInt(j.Cards, 10),
			j.Card,
			decimal(float64(j.CPU) / 1000),
			decimal(float64(j.Memory) / gib),
			strconv.Itoa(int(j.Priority)),
		}, ","))
	}
	return w.Flush()
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
