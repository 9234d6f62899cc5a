package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// actLimit is how long an act may take to come out. It takes a second or two on two cores.
const actLimit = 45 * time.Second

// act is one step of the story: what is done, and how the cluster must look once it has settled.
type act struct {
	title, text string
	submit      []*batch.Job
	complete    []string
	outcome     outcome
}

// outcome is the expected state, of those jobs and queues that an act is about.
type outcome struct {
	jobs []jobOutcome
	// allocated is, by queue, the allocated cell of the table.
	allocated map[string]string
	// evictions is how many pods have been evicted since the story began.
	evictions int
}

type jobOutcome struct {
	name, stage string
	running     int
	// reason is part of what the scheduler must have said about pods that wait.
	reason string
}

// acts is the story. All jobs have pods of 4 cores.
var acts = []act{
	{
		title: "Jobs that fit start at once",
		text: "chat asks for 2 pods of 4/16Gi/1 in inference, etl for 4 pods of 4/8Gi/0 in biz.\n" +
			"Both stay within what their queues deserve.",
		submit: []*batch.Job{
			newJob("chat", "inference", 2, 2, resources(4, 16, 1)),
			newJob("etl", "biz", 4, 4, resources(4, 8, 0)),
		},
		outcome: outcome{
			jobs:      []jobOutcome{{name: "chat", stage: running, running: 2}, {name: "etl", stage: running, running: 4}},
			allocated: map[string]string{"inference": "8/32Gi/2", "biz": "16/32Gi/0"},
		},
	},
	{
		title: "A job that would exceed its queue's capability waits",
		text: "report asks for 3 pods of 4/8Gi/0 in biz: 16 cores are taken, 12 more would make 28, and the\n" +
			"capability is 24. The nodes have room, the queue has not: report gets no pods at all.",
		submit: []*batch.Job{newJob("report", "biz", 3, 3, resources(4, 8, 0))},
		outcome: outcome{
			jobs:      []jobOutcome{{name: "report", stage: waiting, reason: "Queue <biz> has insufficient <cpu> quota"}},
			allocated: map[string]string{"biz": "16/32Gi/0"},
		},
	},
	{
		title: "A queue borrows what the others leave idle",
		text: "llm asks for 8 pods of 4/16Gi/1 in training and can run with 2. training deserves 4 GPUs, but 6\n" +
			"are idle, so it gets 6.",
		submit: []*batch.Job{newJob("llm", "training", 8, 2, resources(4, 16, 1))},
		outcome: outcome{
			jobs:      []jobOutcome{{name: "llm", stage: running, running: 6}},
			allocated: map[string]string{"training": "24/96Gi/6", "eng": "32/128Gi/8"},
		},
	},
	{
		title: "The owner comes back and reclaims its share",
		text: "vision asks for 2 pods of 4/16Gi/1 in inference, which deserves 4 GPUs and has 2. No GPU is idle:\n" +
			"training has to give back the 2 that it has above its own 4.",
		submit: []*batch.Job{newJob("vision", "inference", 2, 2, resources(4, 16, 1))},
		outcome: outcome{
			jobs:      []jobOutcome{{name: "vision", stage: running, running: 2}, {name: "llm", stage: running, running: 4}},
			allocated: map[string]string{"training": "16/64Gi/4", "inference": "16/64Gi/4"},
			evictions: 2,
		},
	},
	{
		title: "What a queue deserves is safe from others",
		text: "search asks for 1 more pod of 4/16Gi/1 in inference, whose capability of 6 GPUs lets it in. But\n" +
			"inference has its 4, training has no more than its 4, and eng above them has all its 8: nobody is\n" +
			"evicted, search waits.",
		submit: []*batch.Job{newJob("search", "inference", 1, 1, resources(4, 16, 1))},
		outcome: outcome{
			jobs: []jobOutcome{
				{name: "search", stage: inqueue, reason: "Queue <eng> has insufficient <nvidia.com/gpu> quota"},
				{name: "llm", stage: running, running: 4},
			},
			allocated: map[string]string{"training": "16/64Gi/4", "inference": "16/64Gi/4"},
			evictions: 2,
		},
	},
	{
		title: "Whoever finishes makes room",
		text: "etl and vision complete. report now fits into biz, search gets a GPU since inference is below its\n" +
			"share, and llm borrows the other one again.",
		complete: []string{"etl", "vision"},
		outcome: outcome{
			jobs: []jobOutcome{
				{name: "chat", stage: running, running: 2},
				{name: "etl", stage: completed},
				{name: "report", stage: running, running: 3},
				{name: "llm", stage: running, running: 5},
				{name: "vision", stage: completed},
				{name: "search", stage: running, running: 1},
			},
			allocated: map[string]string{"training": "20/80Gi/5", "inference": "12/48Gi/3", "biz": "12/24Gi/0"},
			evictions: 2,
		},
	},
}

// introduction explains the table to somebody who has not used Volcano's queues.
const introduction = `
The cluster has 4 nodes of 16 cores and 64Gi; gpu-1 and gpu-2 have 4 GPUs each on top. Its queues form a tree, and an
amount reads cores/memory/GPUs:
  DESERVED    the queue's share: others may borrow what is idle of it, and have to give it back on demand
  GUARANTEE   what is kept for the queue even while it is idle
  CAPABILITY  what the queue never gets more than
Quotas are enforced by this module's plugin "capacity", with enableHierarchy, at every queue up to the root.
`

// tell runs the acts one by one, each as soon as the one before has come out.
func tell(ctx context.Context, cp *controlplane.ControlPlane, board *board) error {
	fmt.Fprint(board.out, introduction)
	for i, act := range acts {
		fmt.Fprintf(board.out, "\n%d. %s\n%s\n\n", i+1, act.title, act.text)
		for _, job := range act.submit {
			if _, err := cp.Volcano.BatchV1alpha1().Jobs(namespace).Create(ctx, job, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("submitting job %s: %w", job.Name, err)
			}
		}
		for _, job := range act.complete {
			if _, err := cp.CompletePods(ctx, namespace, batch.JobNameKey+"="+job); err != nil {
				return err
			}
		}
		if err := board.until(ctx, actLimit, act.outcome.differences); err != nil {
			return fmt.Errorf("act %d, %q, did not come out %w", i+1, act.title, err)
		}
	}
	fmt.Fprintf(board.out, "\n%s\n", jobTable(board.last))
	if len(board.violations) > 0 {
		return fmt.Errorf("a quota was exceeded:\n  %s", strings.Join(board.violations, "\n  "))
	}
	fmt.Fprintf(board.out, "All %d acts came out as told, and no queue ever had more than its capability. (%.1fs)\n",
		len(acts), time.Since(board.start).Seconds())
	return nil
}

// differences lists where v is not the outcome.
func (o outcome) differences(v view) []string {
	var found []string
	differ := func(format string, arguments ...any) { found = append(found, fmt.Sprintf(format, arguments...)) }
	for _, want := range o.jobs {
		got := v.job(want.name)
		if got.stage != want.stage || got.running != want.running {
			differ("job %s: expected %s with %d pods, is %s with %d", want.name, want.stage, want.running, got.stage, got.running)
		}
		if !strings.Contains(got.reason, want.reason) {
			differ("job %s: expected it to wait because of %q, it waits because of %q", want.name, want.reason, got.reason)
		}
	}
	for _, queue := range v.queues {
		if want, ok := o.allocated[queue.name]; ok && want != queue.allocated.String() {
			differ("queue %s: expected %s allocated, has %s", queue.name, want, queue.allocated)
		}
	}
	if len(v.evicted) != o.evictions {
		differ("expected %d evicted pods, there are %d: %s", o.evictions, len(v.evicted), strings.Join(v.evicted, ", "))
	}
	return found
}
