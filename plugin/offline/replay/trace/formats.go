package trace

import "math"

const gib = 1 << 30

// canonical reads a line of the canonical CSV.
func (w *row) canonical() *Job {
	j := &Job{
		Name:      name(w.text("job")),
		Namespace: name(w.text("namespace")),
		Queue:     w.text("queue"),
		Submit:    w.moment("submit"),
		Runtime:   w.span("runtime"),
		Pods:      int(w.whole("pods", 1)),
		Minimum:   int(w.whole("minimum", 0)),
		Cards:     w.whole("cards", 0),
		Card:      w.text("card"),
		CPU:       int64(w.number("cpu", 0) * 1000),
		Memory:    int64(w.number("memory_gib", 0) * gib),
		Priority:  int32(w.whole("priority", 0)),
	}

	if j.Queue == "" {
		w.fail("queue: the job names none")
	}
	return j
}

// helios reads a line of Helios. A job has a number of cards on a number of nodes, and one pod for each node.
func (w *row) helios() *Job {
	pods := max(1, w.whole("node_num", 1))
	cards := w.whole("gpu_num", 0)
	cpus := w.number("cpu_num", 0)
	if cards%pods != 0 {
		*w.uneven = append(*w.uneven, w.line)
	}

	return &Job{
		Name:      name(w.text("job_id")),
		Namespace: name(w.text("user")),
		Queue:     w.text("vc"),
		Submit:    w.moment("submit_time"),
		Runtime:   w.span("duration"),
		Pods:      int(pods),
		Cards:     (cards + pods - 1) / pods,
		CPU:       int64(math.Ceil(cpus * 1000 / float64(pods))),
	}
}
