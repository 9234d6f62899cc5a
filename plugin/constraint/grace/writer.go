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
)

// writer writes the annotations of notices, one after the other, in the background: no session waits for the API
// server. What fails is tried again in a later session. The zero writer is ready.
type writer struct {
	mu       sync.Mutex
	due      map[types.UID]write
	busy     bool
	problems []string
	work     sync.WaitGroup
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
	if w.busy || len(w.due) == 0 {
		return
	}

	w.busy = true
	w.work.Add(1)
	go func() {
		defer w.work.Done()
		w.writeAll(client)
	}()
}

// writeAll writes the annotations that are due, until none is left or a request fails.
func (w *writer) writeAll(client kubernetes.Interface) {
	for {
		w.mu.Lock()
		uid, next, some := w.first()
		if !some {
			w.busy = false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()

		err := patch(client, uid, next)
		w.mu.Lock()
		switch {
		case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsInvalid(err):
			if w.due[uid] == next { // the pod is gone, or it is another one with the same name
				delete(w.due, uid)
			}
		default:
			problem := fmt.Sprintf("annotation %s of pod %s/%s cannot be written: %v",
				policy.EvictionNoticeKey, next.namespace, next.name, err)
			w.problems = append(w.problems[:min(len(w.problems), 10)], problem)
			w.busy = false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
	}
}

func (w *writer) first() (uid types.UID, next write, some bool) {
	for uid, next := range w.due {
		return uid, next, true
	}
	return uid, next, false
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

// takeProblems returns the problems since the last call.
func (w *writer) takeProblems() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	problems := w.problems
	w.problems = nil
	return problems
}
