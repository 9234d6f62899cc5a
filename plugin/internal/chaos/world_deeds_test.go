package chaos

import (
	"time"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// Deed is something that a tenant, an admin, a node or the scheduler does before a cycle. Deeds are independent: each
// one is valid in any world, and does nothing if its object does not exist.
type Deed interface {
	apply(w *World)
	String() string  // the command that does it
	simpler() []Deed // smaller deeds of the same kind
}

// JobSpec describes a PodGroup and its pods.
type JobSpec struct {
	Name, Namespace, Queue string
	Priority               int32
	MinMember              int
	MinResources           workload.Resources // nil: not set
	CardRequest            string             // "": not set
	Service                string             // the service type, "": not set
	Runtime                string             // for how long its pods run, as it announces, "": not set
	Owner                  string             // the kind of the pods' controller, "": none
	// Later: the controller creates the pods when the job is admitted.
	Later bool
	Phase workload.Phase // "": Running where pods have a node, Pending elsewhere
	Pods  []PodSpec
	Whose // of the PodGroup
}

// Whose has the labels and annotations that name the holders of a job.
type Whose struct {
	Labels       map[string]string
	User, Groups string
}

// PodSpec describes a pod.
type PodSpec struct {
	Cards      string // card list, "" for a pod that names no card
	Claims     string // requests of resource claims that are made for it alone, such as 2xA,1xB
	Shares     string // names of resource claims that it shares with other pods, such as c1,c2
	Requests   workload.Resources
	Kept       bool          // must not be evicted
	Gated      bool          // has a scheduling gate
	QueueGated bool          // has Volcano's queue allocation gate
	OptedIn    bool          // to queue allocation gates: has had one, or has it
	On         string        // the node on which it runs from the start
	Ran        time.Duration // how long it has run there, or Unknown
	Bound      bool          // the kubelet does not start it
	Deleted    bool          // it terminates
	Whose
}

// Unknown is a time that a pod does not state.
const Unknown = time.Duration(-1)

// QueueSpec describes a queue.
type QueueSpec struct {
	workload.Queue
	Unreclaimable bool
	Hollow        bool // the scheduler's cache has no object of it
}

type (
	// SubmitJob creates a job.
	SubmitJob struct{ JobSpec }
	// RemoveJob deletes a job with its pods.
	RemoveJob struct {
		Job string
		// Orphans: only its PodGroup is gone at once; its pods terminate.
		Orphans bool
	}
	// ScaleJob changes the number of pods.
	ScaleJob struct {
		Job  string
		Pods int
	}
	// FinishPod ends a pod, if it runs.
	FinishPod struct {
		Job    string
		Pod    int
		Failed bool
	}
	// DeletePod deletes a pod, as its user or a drain does.
	DeletePod struct {
		Job string
		Pod int
	}
	// OpenGates removes the scheduling gates of a job.
	OpenGates struct{ Job string }
	// AnnotatePod sets an annotation of a pod, or takes it away where it is empty.
	AnnotatePod struct {
		Job        string
		Pod        int
		Key, Value string
	}
	// AnnotateGroup does the same to the PodGroup of a job.
	AnnotateGroup struct{ Job, Key, Value string }
	// EditGroup changes the PodGroup of a job.
	EditGroup struct {
		Job          string
		MinMember    int
		MinResources workload.Resources
	}
	// RelabelJob changes the holders that the PodGroup of a job names.
	RelabelJob struct {
		Job string
		Whose
	}
	// SetQueue creates a queue, or changes all of it.
	SetQueue struct{ QueueSpec }
	// EditQueue changes the parts of a queue that the words of the command queue name.
	EditQueue struct {
		Queue string
		Words []string
	}
	// DeleteQueue deletes a queue.
	DeleteQueue struct{ Queue string }
	// SetNode adds a node, or changes all of it.
	SetNode struct{ workload.Node }
	// LoseNode takes a node away. Its pods stay.
	LoseNode struct{ Node string }
	// RemakeNode deletes a node, lost or not, and creates it again. Its pods stay. Volcano's cache knows a pod of it if
	// the pod changes.
	RemakeNode struct{ Node string }
	// ReplacePods replaces the pods of a lost node.
	ReplacePods struct{ Node string }
	// SetDevices has the driver of a node publish devices, in a new generation of its pool.
	SetDevices struct {
		Node  string
		Cards []string // the card of each device
		Old   bool     // the slice is of an old generation, which is still there
	}
	// MakeClaim creates a resource claim that pods can share.
	MakeClaim struct {
		Name, Namespace string
		Requests        string
	}
	// DeleteClaim deletes one. As long as pods have its devices, it stays.
	DeleteClaim struct{ Name, Namespace string }
	// Restart restarts the scheduler.
	Restart struct{}
	// Leave takes the plugin out of the configuration of the scheduler.
	Leave struct{ Cycles int }
	// Renew updates all Nodes and Queues without a change.
	Renew struct{}
	// Wait lets time pass.
	Wait struct{ Time time.Duration }
)
