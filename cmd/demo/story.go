package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
	"github.com/capacity-card/capacity-card/index/card"
)

// actLimit bounds the time until an act has its outcome. It takes a second or two on two cores.
const actLimit = 45 * time.Second

// act is one step of the story: its deeds, in this order, and the state of the cluster once it has settled.
type act struct {
	title, text string
	complete    []string  // jobs
	requote     []requote // queues
	submit      []job
	outcome     outcome
}

// requote gives a queue another annotation card.quota.
type requote struct{ queue, quota string }

// outcome is the expected state of the jobs and queues that an act is about.
type outcome struct {
	jobs []jobOutcome
	// allocated has, by queue, all cards of its subtree.
	allocated map[string]string
	// evictions is the number of pods that were evicted in this act.
	evictions int
	// warnings has a part of each Warning event on a queue in this act: its reason and message.
	warnings []string
}

type jobOutcome struct {
	name, stage string
	running     int
	cards       string
	// reason is a part of the scheduler's message: on the PodGroup if the job is waiting, else on a pod. It is empty if
	// nothing waits.
	reason string
}

var acts = []act{
	{
		title: "Every kind of card has a name and a quota of its own",
		text: "chat takes slices of a card, embed shares of a card, and ocean's pods take two cards of another\n" +
			"vendor each. All fit into the quotas of their queues.",
		submit: []job{
			{name: "chat", queue: "serving", pods: 2, minimum: 2, count: 1, resource: mig, card: h200Slice},
			{name: "embed", queue: "serving", pods: 4, minimum: 4, count: 1, resource: mps, card: h800Share},
			{name: "ocean", queue: "climate", pods: 3, minimum: 3, count: 2, resource: ascend, card: ascend910},
		},
		outcome: outcome{
			jobs: []jobOutcome{
				{name: "chat", stage: running, running: 2, cards: "2 NVIDIA-H200/mig-1g.18gb-mixed"},
				{name: "embed", stage: running, running: 4, cards: "4 NVIDIA-H800/mps-80g*1/4"},
				{name: "ocean", stage: running, running: 3, cards: "6 Ascend910B"},
			},
			allocated: map[string]string{
				"serving": "2 NVIDIA-H200/mig-1g.18gb-mixed, 4 NVIDIA-H800/mps-80g*1/4",
				"climate": "6 Ascend910B",
			},
		},
	},
	{
		title: "A job that takes either card falls back to its second choice",
		text: "tune's pods would rather have an H200. lab's quota of 2 is used up after two pods, so the other two\n" +
			"get an H800, although H200s are idle.",
		submit: []job{{
			name: "tune", queue: "lab", pods: 4, minimum: 4,
			count: 1, resource: gpu, card: h200 + "|" + h800,
		}},
		outcome: outcome{
			jobs: []jobOutcome{{name: "tune", stage: running, running: 4, cards: "2 NVIDIA-H200, 2 NVIDIA-H800"}},
			allocated: map[string]string{
				"lab":      "2 NVIDIA-H200, 2 NVIDIA-H800",
				"research": "2 NVIDIA-H200, 2 NVIDIA-H800",
			},
		},
	},
	{
		title: "The quota of an inner queue binds all queues below it",
		text: "llm would take 6 H200 and can start with 2. train's own quota is 6, but research above it has 6 for\n" +
			"train and lab together, and tune of lab has 2: llm gets 4, and its other pods wait.",
		submit: []job{{name: "llm", queue: "train", pods: 6, minimum: 2, count: 1, resource: gpu, card: h200}},
		outcome: outcome{
			jobs: []jobOutcome{{
				name: "llm", stage: running, running: 4, cards: "4 NVIDIA-H200",
				reason: "Queue <research> has insufficient <NVIDIA-H200> quota: requested <1>, " +
					"total would be <7>, but capability is <6>",
			}},
			allocated: map[string]string{"train": "4 NVIDIA-H200", "research": "6 NVIDIA-H200, 2 NVIDIA-H800"},
		},
	},
	{
		title: "A job without room for its minimum is not admitted",
		text: "eval has the annotation card.request: {\"NVIDIA-H800\": 2}. lab has 2 of its 3, so eval gets no pods\n" +
			"at all: its PodGroup stays pending, and no pods stand around that could only wait.",
		submit: []job{{name: "eval", queue: "lab", pods: 2, minimum: 2, count: 1, resource: gpu, card: h800}},
		outcome: outcome{
			jobs: []jobOutcome{{
				name: "eval", stage: waiting, cards: "-",
				reason: "Queue <lab> has insufficient <NVIDIA-H800> quota: requested <2>, " +
					"total would be <4>, but capability is <3>",
			}},
			allocated: map[string]string{"lab": "2 NVIDIA-H200, 2 NVIDIA-H800"},
		},
	},
	{
		title: "A pod that names no card does not get around the quota",
		text: "untyped requests an nvidia.com/gpu and has neither card.name nor card.request, so it gets a pod.\n" +
			"But whichever card the pod would be given, serving has no quota for it.",
		submit: []job{{name: "untyped", queue: "serving", pods: 1, minimum: 1, count: 1, resource: gpu}},
		outcome: outcome{
			jobs: []jobOutcome{{
				name: "untyped", stage: inqueue, cards: "-",
				reason: "Queue <serving> has insufficient <NVIDIA-H200> quota: requested <1>, " +
					"total would be <1>, but capability is <0>",
			}},
			allocated: map[string]string{"serving": "2 NVIDIA-H200/mig-1g.18gb-mixed, 4 NVIDIA-H800/mps-80g*1/4"},
		},
	},
	{
		title: "Whoever finishes makes room, and an idle share is lent",
		text: "tune completes. eval is admitted and gets its H800s. llm gets the two H200s that lab leaves idle:\n" +
			"train deserves 4 and borrows 2.",
		complete: []string{"tune"},
		outcome: outcome{
			jobs: []jobOutcome{
				{name: "tune", stage: completed, cards: "-"},
				{name: "eval", stage: running, running: 2, cards: "2 NVIDIA-H800"},
				{name: "llm", stage: running, running: 6, cards: "6 NVIDIA-H200"},
			},
			allocated: map[string]string{"train": "6 NVIDIA-H200", "lab": "2 NVIDIA-H800"},
		},
	},
	{
		title: "The owner comes back and reclaims its cards",
		text: "vision needs the 2 H200 that lab deserves. research may have no more than its 6, so train gives back\n" +
			"what it has borrowed: two pods of llm have to go, and llm runs on with 4.",
		submit: []job{{name: "vision", queue: "lab", pods: 2, minimum: 2, count: 1, resource: gpu, card: h200}},
		outcome: outcome{
			jobs: []jobOutcome{
				{name: "vision", stage: running, running: 2, cards: "2 NVIDIA-H200"},
				{
					name: "llm", stage: running, running: 4, cards: "4 NVIDIA-H200",
					reason: "Queue <research> has insufficient <NVIDIA-H200> quota",
				},
			},
			allocated: map[string]string{
				"train":    "4 NVIDIA-H200",
				"lab":      "2 NVIDIA-H200, 2 NVIDIA-H800",
				"research": "6 NVIDIA-H200, 2 NVIDIA-H800",
			},
			evictions: 2,
		},
	},
	{
		title:    "What is idle is lent again",
		text:     "vision completes, and llm has all its pods again.",
		complete: []string{"vision"},
		outcome: outcome{
			jobs:      []jobOutcome{{name: "llm", stage: running, running: 6, cards: "6 NVIDIA-H200"}},
			allocated: map[string]string{"train": "6 NVIDIA-H200", "lab": "2 NVIDIA-H800"},
		},
	},
	{
		title: "A gang borrows, too",
		text: "llm completes. ring needs all its 6 pods or none, and gets the 6 H200: train deserves 4 and\n" +
			"borrows 2.",
		complete: []string{"llm"},
		submit:   []job{{name: "ring", queue: "train", pods: 6, minimum: 6, count: 1, resource: gpu, card: h200}},
		outcome: outcome{
			jobs:      []jobOutcome{{name: "ring", stage: running, running: 6, cards: "6 NVIDIA-H200"}},
			allocated: map[string]string{"train": "6 NVIDIA-H200", "lab": "2 NVIDIA-H800"},
		},
	},
	{
		title: "It gives back as a whole",
		text: "render needs 2 H200 that lab deserves. ring cannot work with 4 pods, so all 6 are evicted\n" +
			"(reclaimGangs: whole). ring waits until its 6 cards are free again.",
		submit: []job{{name: "render", queue: "lab", pods: 2, minimum: 2, count: 1, resource: gpu, card: h200}},
		outcome: outcome{
			jobs: []jobOutcome{
				{name: "render", stage: running, running: 2, cards: "2 NVIDIA-H200"},
				{
					name: "ring", stage: waiting, cards: "-",
					reason: "Queue <research> has insufficient <NVIDIA-H200> quota",
				},
			},
			allocated: map[string]string{"train": "-", "lab": "2 NVIDIA-H200, 2 NVIDIA-H800"},
			evictions: 6,
		},
	},
	{
		title:    "And it comes back by itself",
		text:     "render completes, and ring runs again.",
		complete: []string{"render"},
		outcome: outcome{
			jobs:      []jobOutcome{{name: "ring", stage: running, running: 6, cards: "6 NVIDIA-H200"}},
			allocated: map[string]string{"train": "6 NVIDIA-H200", "lab": "2 NVIDIA-H800"},
		},
	},
	{
		title: "A typo in a quota harms only its own key",
		text: "serving's quota is raised to 4 slices, and to \"six\" shares, which is no number. The slices count at" +
			"\nonce: rerank runs. The shares stay at 4, their last good value: index waits.",
		requote: []requote{{"serving", `{"NVIDIA-H200/mig-1g.18gb-mixed": 4, "NVIDIA-H800/mps-80g*1/4": "six"}`}},
		submit: []job{
			{name: "rerank", queue: "serving", pods: 2, minimum: 2, count: 1, resource: mig, card: h200Slice},
			{name: "index", queue: "serving", pods: 2, minimum: 2, count: 1, resource: mps, card: h800Share},
		},
		outcome: outcome{
			jobs: []jobOutcome{
				{name: "rerank", stage: running, running: 2, cards: "2 NVIDIA-H200/mig-1g.18gb-mixed"},
				{
					name: "index", stage: waiting, cards: "-",
					reason: "Queue <serving> has insufficient <NVIDIA-H800/mps-80g*1/4> quota: " +
						"requested <2>, total would be <6>, but capability is <4>",
				},
			},
			allocated: map[string]string{"serving": "4 NVIDIA-H200/mig-1g.18gb-mixed, 4 NVIDIA-H800/mps-80g*1/4"},
			warnings: []string{
				"BadCardAnnotation: annotation volcano.sh/card.quota: " +
					`"NVIDIA-H800/mps-80g*1/4": a string is not a number`,
			},
		},
	},
	{
		title:   "The typo is corrected",
		text:    "serving may have 6 shares: index is admitted and runs.",
		requote: []requote{{"serving", `{"NVIDIA-H200/mig-1g.18gb-mixed": 4, "NVIDIA-H800/mps-80g*1/4": 6}`}},
		outcome: outcome{
			jobs: []jobOutcome{
				{name: "chat", stage: running, running: 2, cards: "2 NVIDIA-H200/mig-1g.18gb-mixed"},
				{name: "embed", stage: running, running: 4, cards: "4 NVIDIA-H800/mps-80g*1/4"},
				{name: "ocean", stage: running, running: 3, cards: "6 Ascend910B"},
				{name: "index", stage: running, running: 2, cards: "2 NVIDIA-H800/mps-80g*1/4"},
				{
					name: "untyped", stage: inqueue, cards: "-",
					reason: "Queue <serving> has insufficient <NVIDIA-H200> quota",
				},
			},
			allocated: map[string]string{
				"serving":  "4 NVIDIA-H200/mig-1g.18gb-mixed, 6 NVIDIA-H800/mps-80g*1/4",
				"climate":  "6 Ascend910B",
				"research": "6 NVIDIA-H200, 2 NVIDIA-H800",
			},
		},
	},
}

// introduction explains the tables to a user who has not used Volcano's queues.
const introduction = `
Quotas of cards, enforced by this module's plugin "capacity-card" with enableHierarchy. Cards are
named after the labels of their nodes, and a part of a card (MIG, MPS) is a card of its own:

%s
The queues form a tree. Their annotations volcano.sh/card.* say in whole cards:
  QUOTA     the most that the queue may have, with all queues below it. A leaf may have no card that
            it does not name; an inner queue does not bound ("-") what it does not name.
  DESERVED  what the queue can get back from others, by default its quota. What it has beyond that
            is borrowed.
What a queue is guaranteed, by default its quota too, it never lends. lab and train are guaranteed
none of their H200 here, so that each can borrow what the other leaves idle.
Cpu and memory are left out of it: a queue that does not bound them may have all there is.
`

// tell plays the acts one after the other and checks the outcome of each.
func tell(ctx context.Context, cp *controlplane.ControlPlane, board *board) error {
	fmt.Fprintf(board.out, introduction, nodeTable(nodes()))
	if _, err := board.update(); err != nil {
		return err
	}
	board.printTable()

	for i, act := range acts {
		fmt.Fprintf(board.out, "\n%d. %s\n%s\n%s\n", i+1, act.title, act.text, act.deeds())

		before := board.last
		if err := act.perform(ctx, cp); err != nil {
			return err
		}

		differences := func(after view) []string { return act.outcome.differences(before, after) }
		if err := board.until(ctx, actLimit, differences); err != nil {
			return fmt.Errorf("act %d, %q: %w", i+1, act.title, err)
		}
	}

	fmt.Fprintf(board.out, "\nThe jobs at the end:\n\n%s\n", jobTable(board.last))
	fmt.Fprintf(board.out, "All %d acts came out as expected, "+
		"and no queue ever had more cards than its quota. (%.1fs)\n",
		len(acts), time.Since(board.start).Seconds())
	return nil
}

// deeds shows the annotations and jobs of the act.
func (a act) deeds() string {
	var text strings.Builder
	for _, each := range a.requote {
		fmt.Fprintf(&text, "\n  queue %s, annotation %s:\n    %s\n", each.queue, card.QuotaKey, each.quota)
	}

	if len(a.submit) > 0 {
		rows := []string{"  JOB\tQUEUE\tPODS\tEACH REQUESTS\tCARD.NAME"}
		for _, job := range a.submit {
			pods := fmt.Sprint(job.pods)
			if job.minimum < job.pods {
				pods = fmt.Sprintf("%d, at least %d", job.pods, job.minimum)
			}

			rows = append(rows, fmt.Sprintf("  %s\t%s\t%s\t%d %s\t%s",
				job.name, job.queue, pods, job.count, job.resource, job.card))
		}
		text.WriteString("\n" + aligned(rows))
	}
	return text.String()
}

func (a act) perform(ctx context.Context, cp *controlplane.ControlPlane) error {
	for _, job := range a.complete {
		if _, err := cp.CompletePods(ctx, namespace, batch.JobNameKey+"="+job); err != nil {
			return err
		}
	}

	for _, each := range a.requote {
		annotations := map[string]string{card.QuotaKey: each.quota}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
		if err != nil {
			return err
		}

		queues := cp.Volcano.SchedulingV1beta1().Queues()
		if _, err := queues.Patch(ctx, each.queue, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("annotating queue %s: %w", each.queue, err)
		}
	}

	for _, job := range a.submit {
		_, err := cp.Volcano.BatchV1alpha1().Jobs(namespace).Create(ctx, job.object(), metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("submitting job %s: %w", job.name, err)
		}
	}
	return nil
}

// differences lists the differences between the outcome and the view after an act that began at before.
func (o outcome) differences(before, after view) []string {
	var found []string
	differ := func(format string, arguments ...any) { found = append(found, fmt.Sprintf(format, arguments...)) }

	for _, want := range o.jobs {
		got := after.job(want.name)
		if got.stage != want.stage || got.running != want.running || got.cards.String() != want.cards {
			differ("job %s: expected %s with %d pods on %s, is %s with %d on %s",
				want.name, want.stage, want.running, want.cards, got.stage, got.running, got.cards)
		}
		if !strings.Contains(got.reason, want.reason) || want.reason == "" && got.reason != "" {
			differ("job %s: expected it to wait because of %q, it waits because of %q",
				want.name, want.reason, got.reason)
		}
	}

	for _, queue := range after.queues {
		if want, ok := o.allocated[queue.name]; ok && want != queue.allocated.String() {
			differ("queue %s: expected %s, has %s", queue.name, want, queue.allocated)
		}
	}

	if evicted := after.evicted[len(before.evicted):]; len(evicted) != o.evictions {
		differ("expected %d evicted pods, there are %d: %v", o.evictions, len(evicted), evicted)
	}

	warnings := after.warnings[len(before.warnings):]
	for i, want := range o.warnings {
		if i >= len(warnings) || !strings.Contains(warnings[i].reason+": "+warnings[i].message, want) {
			differ("expected the warning %q", want)
		}
	}
	if len(warnings) > len(o.warnings) {
		differ("expected %d warnings, there are %d: %v", len(o.warnings), len(warnings), warnings)
	}
	return found
}
