package grace

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/background"
)

// writer writes the annotations of notices, one after the other, in the background: no session waits for the API
// server. What fails is tried again in a later session. The zero writer is ready.
type writer struct {
	background.Task
	mu  sync.Mutex
	due map[types.UID]write
}

type write struct {
	namespace, name, text string
}

// requestTimeout bounds one request. mostDue bounds the annotations that wait to be written: more are lost. Only a
// restarted scheduler needs them.
const (
	requestTimeout = 10 * time.Second
	mostDue        = 10_000
)

// add has the annotation of a pod written by the next flush.
func (w *writer) add(pod *v1.Pod, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.due == nil {
		w.due = map[types.UID]write{}
	}
	if len(w.due) < mostDue {
		w.due[pod.UID] = write{pod.Namespace, pod.Name, text}
	}
}

// flush begins to write, unless something is being written.
func (w *writer) flush(client kubernetes.Interface) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if client == nil {
		clear(w.due)
	}
	if len(w.due) > 0 {
		w.Start(func() error { return w.writeAll(client) })
	}
}

// writeAll writes the annotations that are due, until none is left or a request fails.
func (w *writer) writeAll(client kubernetes.Interface) error {
	for {
		uid, next, some := w.first()
		if !some {
			return nil
		}

		err := patch(client, uid, next)
		switch {
		case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsInvalid(err):
			w.done(uid, next) // or the pod is gone, or it is another one with the same name
		default:
			return fmt.Errorf("annotation %s of pod %s/%s cannot be written: %w",
				policy.EvictionNoticeKey, next.namespace, next.name, err)
		}
	}
}

// first returns an annotation that is due.
func (w *writer) first() (uid types.UID, next write, some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for uid, next := range w.due {
		return uid, next, true
	}
	return uid, next, false
}

// done removes an annotation that was written, unless another text is due since then.
func (w *writer) done(uid types.UID, written write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.due[uid] == written {
		delete(w.due, uid)
	}
}

// patch sets the annotation of the pod with a UID.
func patch(client kubernetes.Interface, uid types.UID, w write) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid,
		"annotations": map[string]string{policy.EvictionNoticeKey: w.text}}})
	if err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	_, err = client.CoreV1().Pods(w.namespace).Patch(ctx, w.name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}
