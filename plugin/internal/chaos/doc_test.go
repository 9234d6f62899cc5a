// Package chaos runs random worlds: tenants, admins, nodes and restarts of the scheduler act, and invariants hold after
// each event. A scene repeats a world from text.
//
// The invariants are rules of their own where they follow a world from session to session: fuzz/oracle has the accounts of
// one session. Rules about one session ask it, such as the bounds of jobs, budgets of evictions and resource claims.
//
// A World is a cluster in memory that lasts for many cycles of a scheduler. It plays the kubelet, controllers, tenants
// and admins, and carries out the scheduler's decisions between two cycles. Each cycle is a session of Volcano on the
// result of Info.
//
// A script describes the events as text. TestScenes runs scripts:
//
//	scene
//	vary terminate=1 | terminate=6
//	config tree actions=allocate,reclaim
//	node n1 cards=H200:8
//	queue research parent=root quota=H200:8 deserved=H200:8 guarantee=H200:0
//	queue batch parent=root quota=H200:8 deserved=H200:0 guarantee=H200:0
//	job train queue=batch min=0 pods=8 card=H200 on=n1
//	job llm queue=research min=2 pods=2 card=H200 gpus=2
//	cycle 8
//	show running evicted
//	----
//	running train=4 llm=2
//	evicted train-4 train-5 train-6 train-7
//
// The expected output stands below the four dashes. scene begins with an empty world; then, in place of scene, goes on
// with the one before. "scene from=v1.15" is for this release of Volcano and later ones; "scene known" checks the
// invariants that are known not to hold, too. "define NAME" gives the lines below it a name for the command use. Lines
// that begin with # are comments, and a line goes on after a backslash. A value in double quotes may have spaces.
//
// # Configuration
//
//	config SETTING...  settings of the scheduler and of the controllers:
//	  plugin=NAME             the quota plugin; capacity-card if nothing else is said
//	  tree                    queues form a tree
//	  actions=A,B             the actions of a cycle
//	  gang-spares             gang spares the minimum of jobs from preemption
//	  gang-gives              gang does not spare it from reclaim
//	  topology-aware          preempt simulates
//	  order=N                 the scheduler looks at node N first
//	  terminate=N             evicted pods are gone after N cycles; 1 if nothing else is said
//	  eager                   controllers replace pods that terminate, and not only ended ones
//	  ARGUMENT=VALUE          an argument of the plugin
//	vary SETTINGS | SETTINGS  the scene runs with each of these; several lines multiply
//	vary $X=VALUE | $X=VALUE  replaces $X in the lines of the scene
//	use NAME                  the lines of "define NAME"
//
// # Deeds
//
// Deeds happen before the next cycle.
//
//	node NAME [cards=MODEL:N] [shares=MODEL:NxMEMORY,...] [has=RESOURCES] [labels=KEY:VALUE,...]
//	      [register=TEXT]
//	    adds a node, or changes it; without has it has cpu, memory and pods for everything.
//	    shares are cards that Volcano's vGPU shares among pods, and register is the annotation
//	    in which the node registers them. A pod that gets the node gets the first cards with room.
//	devices NODE CARDS [old]
//	    the driver of a node publishes these devices in a new generation of their pool; with old, in an
//	    old one that stays with the current one
//	claim NAME REQUESTS [namespace=NS], delete-claim NAME [namespace=NS]
//	    a resource claim that pods share. One that is deleted stays until no pod has its devices.
//	lose-node NODE, replace-pods NODE, remake-node NODE
//	    takes a node away; replaces the pods that ran there; deletes a Node, lost or not, and creates it again while
//	    its pods run, so that Volcano's cache has a pod on it only after the pod changes
//	queue NAME [parent=QUEUE] [weight=N] [priority=N] [closed] [unreclaimable]
//	      [capability=RESOURCES] [spec.deserved=RESOURCES] [spec.guarantee=RESOURCES]
//	      [quota=CARDS] [deserved=CARDS] [guarantee=CARDS] [ANNOTATION=VALUE]
//	    adds a queue, or changes all of it; max-jobs=5 is the annotation volcano.sh/max-jobs
//	edit-queue QUEUE WORDS
//	    changes what these words of the command queue say; an annotation without a value goes
//	delete-queue QUEUE
//	job NAME queue=QUEUE [namespace=NS] [priority=N] [min=N] [minResources=RESOURCES]
//	    [card.request=CARDS] [service=TYPE] [runtime=TIME] [owner=KIND] [phase=PHASE] [later] [WHOSE] PODS [+ PODS]
//	    creates a job with pods of one kind or more. min is 1 if nothing else is said. With
//	    later, the controller creates the pods when the job is admitted. PODS are
//	      [pods=N] [card=LIST] [gpus=N] [requests=RESOURCES] [claims=REQUESTS,...] [shares=CLAIM,...]
//	      [on=NODE,...] [ran=TIME,...] [bound] [terminating]
//	      [kept] [gated] [queue-gated] [opted-in]
//	      [pod.labels=KEY:VALUE,...] [pod.user=NAME] [pod.groups=NAME,...]
//	    WHOSE are the labels and annotations of the PodGroup that name the holders of the job
//	      [labels=KEY:VALUE,...] [user=NAME] [groups=NAME,...]
//	    claims are resource claims that are made for each pod, and shares those that it names.
//	    REQUESTS are 2xA|B for two devices that are A or B, allxA for all that are A; ; separates the
//	    alternatives of firstAvailable, and + several requests. A claim gets free devices of the node of its
//	    pods one, two or three cycles after the first of them got it.
//	    A pod with a card requests one GPU if nothing else is said. With on the pods run from the
//	    start, since a time that may be unknown; they are bound and do not run yet; or they terminate.
//	delete-job JOB [orphans]
//	    with orphans, only the PodGroup is gone at once, and the pods terminate as evicted ones do
//	scale JOB N, edit-job JOB [min=N] [minResources=RESOURCES], open-gates JOB
//	annotate-pod POD KEY=VALUE, annotate-job JOB KEY=VALUE
//	    sets an annotation of the pod, or of the PodGroup; now, now-2m and now+2m are times
//	relabel JOB [WHOSE]
//	    replaces these labels and annotations of the PodGroup
//	succeed POD, fail POD, delete-pod POD
//	    such as succeed llm-0, if it runs
//	restart    the scheduler restarts
//	leave N    the configuration of the scheduler is without the plugin for N cycles
//	renew      all Nodes and Queues are updated without a change
//	wait TIME  in addition to the minute that passes from one cycle to the next
//
// RESOURCES are cpu:500m,memory:8Gi,nvidia.com/gpu:8; CARDS are A:8,B:4, or any text in the way of an
// annotation; either is none for an empty list.
//
// # Cycles and their output
//
//	cycle [N]     runs N cycles, 1 if nothing else is said
//	settle        runs cycles until nothing changes, and checks that the world is at rest
//	admit [quietly] JOB...
//	              runs a cycle that admits these jobs in this order, if the plugins let it
//	ask gang-reclaim JOB, ask gang-preempt JOB
//	              whom the gang actions of v1.15 may evict for a job
//	show WHAT...  prints parts of the state, here or with other variants:
//	  running     the number of pods on nodes, of each job
//	  cards       the models of their nodes
//	  phases      the phases of the PodGroups
//	  evicted     the pods that were evicted
//	  evictions   their number
//	  reasons     why jobs wait
//	  waiting     the pods that wait for the room of terminating pods, with their nodes
//	  total       the number of pods on nodes that are not lost
//	  charged     the cards that queues are charged for, in thousandths
//	  promises    the reservations for admitted jobs, in thousandths
//	  history     all that happened
package chaos
