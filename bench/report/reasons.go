package main

// reasons explains, by the title of a goal, why ours misses it. The page prints one only where the
// goal is missed.
var reasons = map[string]string{
	"session open, warm": "Cold, as Volcano's cache leaves jobs for a scheduler, both wait for memory and take the same time. " +
		"Warm, ours also counts what is terminating, looks for promises that are over, and compares what it published of " +
		"1,020 queues (profiles/open-L-ours-cpu.txt).",
	"session open, flat": "As in a tree, warm.",
	"session open, cards, cold": "Both wait for 100,000 tasks. Ours also finds the jobs whose pods can choose among cards, and " +
		"what is reserved for them (profiles/open-cards-L-ours-cpu.txt).",
	"PrePredicate": "Volcano's own part takes 0.1 µs for each pending pod and cycle, and the snapshot, one allocation of 240 bytes, " +
		"takes another 0.1 µs.",
	"Allocatable, one card": "The floor compares at four levels what is allocated with the quota. Ours also keeps free what is " +
		"guaranteed to others, which is one more account at each level, and asks what is reserved for other pods and whether the pod " +
		"may have the card (profiles/ask-cards-L-ours-cpu.txt).",
	"Allocatable, one of three cards": "As with one card.",
	"JobEnqueueable, one card": "A third is reading the pods of the job, of which the floor compares two numbers. A fifth is reading " +
		"the minimum, whose quantities may have any form. Then come the cards of other jobs that wait " +
		"(profiles/ask-cards-L-ours-cpu.txt).",
	"JobEnqueueable, one of three cards": "As with one card.",
	"Preemptive, one card":               "A quarter of the time is reading the request (profiles/ask-cards-L-ours-cpu.txt).",
	"Reclaimable, cards, 100 candidates": "The floor asks the queue of a candidate alone. Ours keeps what is guaranteed to every queue " +
		"above it, takes a card only where the node or a quota lacks it, and checks that the victims suffice " +
		"(profiles/reclaim-cards-L-ours-cpu.txt).",
	"Reclaimable, cards, 1,000 candidates": "As with 100.",
	"Preemptable, cards, 100 candidates": "The time is within the goal. The plugin first asks all others who would be evicted, by a " +
		"copy of the preemptor. These questions allocate, and six of the allocations are Volcano's own.",
	"whole cycle, first session": "The first cycle of a process makes the metric series of 1,000 queues. They are most of the 287,000 " +
		"allocations more than none, once. The decisions themselves take 0.3 % of the time of the processors in a later cycle " +
		"(profiles/cycle-1000-queues-ours-cpu.txt).",
	"whole cycle, later session": "1 % of the time of the processors is ours, half of it for metric series of queues that get their " +
		"first pods. The rest is within what one cycle differs from the next: the interval contains the goal.",
	"whole cycle, cards, pods that name none": "Ours charges each pod for a card, and none does not. The interval contains the goal.",
}
