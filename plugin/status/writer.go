package status

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configuration "volcano.sh/apis/pkg/client/applyconfiguration/scheduling/v1beta1"
	"volcano.sh/apis/pkg/client/clientset/versioned"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/background"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// manager is the field manager of the annotation.
const manager = "capacity-card-status"

// requestTimeout bounds one request.
const requestTimeout = 10 * time.Second

// Writer writes the annotations in the background: no session waits for the API server. What fails is tried again the
// next time. The zero Writer is ready.
type Writer struct {
	background.Task
	next time.Time
}

// Due reports whether the annotations are to be written at the time of a session. every is the time between two writes.
func (w *Writer) Due(now time.Time, every time.Duration) bool {
	// A time further ahead is from before a change of the setting or of the clock.
	if now.Before(w.next) && w.next.Sub(now) <= every {
		return false
	}
	w.next = now.Add(every)
	return true
}

// Offer begins to write the annotations of the queues that have changed, unless some are being written.
func (w *Writer) Offer(
	client versioned.Interface, queues []*api.QueueInfo, accounts []inspect.Account, jobs map[api.JobID]*api.JobInfo,
) {
	if client == nil || w.Busy() {
		return
	}

	changed := changes(queues, texts(accounts, jobs))
	if len(changed) > 0 {
		w.Start(func() error { return writeAll(client, changed) })
	}
}

// change is an annotation to write.
type change struct {
	queue string
	uid   types.UID
	text  string
}

// changes returns the annotations that are not as their objects have them.
func changes(queues []*api.QueueInfo, texts map[string]string) (all []change) {
	for _, queue := range queues {
		if queue == nil || queue.Queue == nil || queue.Queue.UID == "" {
			continue // a root without an object, or a queue of a file
		}

		object := queue.Queue
		text, known := texts[queue.Name]
		if known && object.Annotations[card.StatusKey] != text {
			all = append(all, change{queue.Name, object.UID, text})
		}
	}
	return all
}

// writeAll writes annotations until a request fails, as without the right to patch queues. It returns the first
// problem.
func writeAll(client versioned.Interface, all []change) (problem error) {
	for _, c := range all {
		err := c.apply(client)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			continue // the queue is gone, or is another one with the same name
		}

		if problem == nil {
			problem = fmt.Errorf("argument cardStatus: annotation %s of queue %s cannot be written: %w",
				card.StatusKey, c.queue, err)
		}
		if !apierrors.IsInvalid(err) { // an admission policy can refuse one queue, and permit the others
			return problem
		}
	}
	return problem
}

// apply sets the annotation of the queue with a UID. Without it, the API server would create a queue that was deleted.
func (c change) apply(client versioned.Interface) error {
	queue := configuration.Queue(c.queue).WithUID(c.uid).WithAnnotations(map[string]string{card.StatusKey: c.text})

	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	options := metav1.ApplyOptions{FieldManager: manager, Force: true}
	_, err := client.SchedulingV1beta1().Queues().Apply(ctx, queue, options)
	return err
}
