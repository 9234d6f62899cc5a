package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/told"
)

// unseen names the facts that a user of one namespace does not see, and the role that shows them. kinds may not be
// listed.
func unseen(namespace string, kinds []string) string {
	return fmt.Sprintf("no permission to list %s in all namespaces. The answers are what the scheduler has written in "+
		"namespace %s. Not seen: what queues have, who has it, and what would help. "+
		"The ClusterRole %s (deploy/cardctl) shows it", strings.Join(kinds, ", "), namespace, input.ViewerRole)
}

// explainTold answers for the jobs of a namespace from the texts of the scheduler. kinds may not be listed in all
// namespaces.
func (s *source) explainTold(ctx context.Context, about subject, kinds []string) (*result, error) {
	config, err := s.restConfig()
	if err != nil {
		return nil, err
	}
	found, err := input.ReadNamespace(ctx, config, s.namespace())
	if err != nil {
		return nil, err
	}

	s.unknown = []string{unseen(s.namespace(), kinds)}
	for _, kind := range found.Lacks {
		s.unknown = append(s.unknown, fmt.Sprintf("no permission to list %s in namespace %s", kind, s.namespace()))
	}
	for _, text := range s.unknown {
		s.warning("%s", text)
	}

	one := about.name != "" && about.kind != "queue"
	jobs := []*told.Job{}
	var names []string
	for _, job := range told.Jobs(found) {
		_, name, _ := strings.Cut(job.Owner, "/")
		names = append(names, name)
		if about.selects(job) && job.Matches(s.labels) {
			jobs = append(jobs, job)
		}
	}

	r := &result{text: "No job waits.\n", data: listOf("ExplanationList", jobs)}
	switch {
	case one && len(jobs) == 0:
		return nil, unknown(about.kind, about.name, names)
	case one:
		r.text = describeEach(jobs, widthOf(s.streams.Out), (*description).told)
	case len(jobs) > 0:
		r.rows = toldTable(jobs)
	}
	return r, nil
}

// selects reports whether a job is one of a subject. Without a name, all waiting jobs are.
func (about subject) selects(job *told.Job) bool {
	waits := job.State == explain.Waiting
	switch {
	case about.name == "":
		return waits
	case about.kind == "queue":
		return waits && job.Queue == about.name
	case about.kind == "pod":
		return job.Has(about.name)
	}
	return job.Is(about.name)
}

// ago returns the age of a time, "" for none.
func ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return duration.HumanDuration(time.Since(t))
}

func toldTable(jobs []*told.Job) *table {
	t := tableOf("NAMESPACE", "JOB", "QUEUE", "STATE", "PHASE", "PLACED", "WAITING", "(MINIMUM)", "PLACE", "AGE",
		"MESSAGE")
	for _, job := range jobs {
		t.add(job.Namespace, job.Owner, job.Queue, string(job.State), job.Phase, job.Pods.Placed, job.Pods.Waiting,
			job.Pods.Minimum, fmt.Sprintf("%d of %d", job.Place, job.Rivals), ago(job.Since.Time), job.Message)
	}
	return t
}

// told prints one job.
func (d *description) told(job *told.Job) {
	d.line("Job:", job.Namespace+"/"+job.Owner)
	d.line("PodGroup:", job.Name+", "+job.Phase)
	d.line("Queue:", job.Queue)
	d.line("State:", string(job.State))
	d.line("Pods:", fmt.Sprintf("%d, of which %d placed and %d waiting; %d needed to start",
		job.Pods.Total, job.Pods.Placed, job.Pods.Waiting, job.Pods.Minimum))
	d.line("Age:", ago(job.Since.Time))

	if job.State == explain.Waiting {
		if job.Reason != nil {
			d.line("Rule:", ruleAt(job.Reason.Rule, job.Reason.Queue))
		}
		if job.Message == "" {
			d.line("Why:", "the scheduler has written no reason yet")
		} else {
			d.line("Why:", job.Message)
			d.line("Since:", fmt.Sprintf("%s (condition %s)", ago(job.Told.Time), job.Condition))
		}
		d.line("Place:", fmt.Sprintf("%d of %d jobs of namespace %s that wait in queue %s, by age",
			job.Place, job.Rivals, job.Namespace, job.Queue))
	}

	var events []string
	for _, e := range job.Events {
		text := fmt.Sprintf("%s %s %s of %s: %s", ago(e.Time.Time), e.Type, e.Reason, e.Object, e.Message)
		events = append(events, text)
	}
	d.list("Events:", events)
}
