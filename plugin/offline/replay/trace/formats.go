package trace

import (
	"math"
	"strings"
)

const gib, mib = 1 << 30, 1 << 20

// part is the reason of a note about parts of cards.
const part = "a part of a card counts as a whole one"

// canonical reads a line of the canonical CSV.
func (w *row) canonical() *Job {
	j := &Job{
		Name: name(w.text("job")), Namespace: name(w.text("namespace")), Queue: w.text("queue"), Submit: w.moment("submit"),
		Runtime: w.span("runtime"), Pods: int(w.whole("pods", 1)), Minimum: int(w.whole("minimum", 0)), Cards: w.whole("cards", 0),
		Card: w.text("card"), CPU: int64(w.number("cpu", 0) * 1000), Memory: int64(w.number("memory_gib", 0) * gib),
		Priority: int32(w.whole("priority", 0)),
	}
	if j.Queue == "" {
		w.fail("queue: the job names none")
	}
	return j
}

// helios reads a line of Helios. A job has a number of cards on a number of nodes.
func (w *row) helios() *Job {
	pods := max(1, w.whole("node_num", 1))
	cards, cpus := w.whole("gpu_num", 0), w.number("cpu_num", 0)
	if cards%pods != 0 {
		w.counts.add(w.line, "the cards are not a multiple of the nodes: each pod has the larger number")
	}
	return &Job{
		Name: name(w.text("job_id")), Namespace: name(w.text("user")), Queue: w.text("vc"), Submit: w.moment("submit_time"),
		Runtime: w.span("duration"), Pods: int(pods), Cards: (cards + pods - 1) / pods, CPU: int64(math.Ceil(cpus * 1000 / float64(pods))),
	}
}

// openb reads a line of openb: a pod, whose gpu_spec is a card list.
func (w *row) openb() *Job {
	if w.text("scheduled_time") == "" {
		return w.leaveOut("the pod was not scheduled, so nobody knows how long it runs")
	}
	if w.text("deletion_time") == "" {
		return w.leaveOut("the pod was not deleted, so nobody knows how long it runs")
	}
	if milli := w.whole("gpu_milli", 1000); milli%1000 != 0 {
		w.counts.add(w.line, part)
	}
	return &Job{
		Name: name(w.text("name")), Submit: w.moment("creation_time"), Runtime: w.moment("deletion_time") - w.moment("scheduled_time"),
		Pods: 1, Cards: w.whole("num_gpu", 0), Card: w.text("gpu_spec"),
		CPU: w.whole("cpu_milli", 0), Memory: w.whole("memory_mib", 0) * mib,
	}
}

// pai reads a line of PAI: a task of a job, whose instances are pods. plan_cpu and plan_gpu are in
// hundredths. The table has neither users nor the time before the start.
func (w *row) pai() *Job {
	if w.text("start_time") == "" || w.text("end_time") == "" {
		return w.leaveOut("the task has no start or no end")
	}
	planned := w.number("plan_gpu", 0)
	cards := int64(math.Ceil(planned / 100))
	if planned != float64(100*cards) {
		w.counts.add(w.line, part)
	}
	card := w.text("gpu_type")
	if cards == 0 {
		card = ""
	}
	return &Job{
		Name:   strings.Trim(name(w.text("job_name"))+"-"+name(w.text("task_name")), "-"),
		Submit: w.moment("start_time"), Runtime: w.moment("end_time") - w.moment("start_time"),
		Pods: int(w.whole("inst_num", 1)), Cards: cards, Card: card,
		CPU: int64(w.number("plan_cpu", 0) * 10), Memory: int64(w.number("plan_mem", 0) * gib),
	}
}
