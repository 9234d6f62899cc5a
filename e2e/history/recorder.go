package history

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// retryPeriod is the time between two requests that the API server does not answer.
const retryPeriod = 100 * time.Millisecond

// Source is a kind of objects that can be listed and watched.
type Source struct {
	Kind  string
	List  func(context.Context) (*unstructured.UnstructuredList, error)
	Watch func(ctx context.Context, revision string) (watch.Interface, error)
}

// scheduling is Volcano's API group of queues.
var scheduling = schema.GroupVersion{Group: "scheduling.volcano.sh", Version: "v1beta1"}

// kinds are the kinds of objects in a history of a cluster with Volcano. Only some API servers serve the last ones.
var kinds = []struct {
	kind     string
	resource schema.GroupVersionResource
}{
	{"Node", corev1.SchemeGroupVersion.WithResource("nodes")},
	{"Pod", corev1.SchemeGroupVersion.WithResource("pods")},
	{"ConfigMap", corev1.SchemeGroupVersion.WithResource("configmaps")},
	{"Event", corev1.SchemeGroupVersion.WithResource("events")},
	{"Queue", scheduling.WithResource("queues")},
	{"PodGroup", scheduling.WithResource("podgroups")},
	{"Job", schema.GroupVersionResource{Group: "batch.volcano.sh", Version: "v1alpha1", Resource: "jobs"}},
	{"ResourceClaim", schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaims"}},
}

// Sources returns the kinds of a history that the API server serves.
func Sources(ctx context.Context, client dynamic.Interface) (sources []Source, err error) {
	for _, each := range kinds {
		resource := client.Resource(each.resource)
		_, err := resource.List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) {
			continue
		}

		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", each.resource.Resource, err)
		}

		sources = append(sources, Source{
			Kind: each.kind,
			List: func(ctx context.Context) (*unstructured.UnstructuredList, error) {
				return resource.List(ctx, metav1.ListOptions{})
			},
			Watch: func(ctx context.Context, revision string) (watch.Interface, error) {
				return resource.Watch(ctx, metav1.ListOptions{ResourceVersion: revision, AllowWatchBookmarks: true})
			},
		})
	}

	return sources, nil
}

// Recorder records until it is stopped.
type Recorder struct {
	*Writer
	followers []*follower
	cancel    context.CancelFunc
	done      sync.WaitGroup
}

// Start lists each source, and returns when these lists are written. Later changes are written as they arrive.
func Start(w *Writer, sources []Source) (*Recorder, error) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Recorder{Writer: w, cancel: cancel}
	for _, source := range sources {
		f := &follower{source: source, writer: w}

		err := f.list(ctx, 0)
		if err != nil {
			cancel()
			r.done.Wait()
			return nil, fmt.Errorf("listing %s: %w", source.Kind, err)
		}

		r.followers = append(r.followers, f)
		r.done.Add(1)
		go func() {
			defer r.done.Done()
			f.follow(ctx)
		}()
	}

	return r, nil
}

// Behind returns the kinds for which the history lags behind the state in the API server.
func (r *Recorder) Behind(ctx context.Context, kinds ...string) (behind []string, err error) {
	for _, f := range r.followers {
		if !slices.Contains(kinds, f.source.Kind) {
			continue
		}

		list, err := f.source.List(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", f.source.Kind, err)
		}

		if !f.has(list.Items) {
			behind = append(behind, f.source.Kind)
		}
	}

	return behind, nil
}

// Stop ends the watches, and closes the history.
func (r *Recorder) Stop() error {
	r.cancel()

	r.done.Wait()
	return r.Close()
}

// follower follows the changes of one kind.
type follower struct {
	source   Source
	writer   *Writer
	revision int64 // of the last change that was written

	mu sync.Mutex
	// known holds the written objects, for the comparison with a list.
	known map[types.UID]*unstructured.Unstructured
}

// has reports whether the written objects are the same as items.
func (f *follower) has(items []unstructured.Unstructured) bool {
	f.mu.Lock()
	defer f.mu.Unlock()

	for i := range items {
		known := f.known[items[i].GetUID()]
		if known == nil || known.GetResourceVersion() != items[i].GetResourceVersion() {
			return false
		}
	}

	return len(items) == len(f.known)
}

// follow watches until ctx ends. It resumes a watch that ends after the last change. If the API server no longer
// has that change, follow lists the objects and writes a gap.
func (f *follower) follow(ctx context.Context) {
	for ctx.Err() == nil {
		watching, err := f.source.Watch(ctx, strconv.FormatInt(f.revision, 10))
		if err == nil {
			err = f.take(ctx, watching)
			watching.Stop()
		}

		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			err = f.list(ctx, f.revision)
		}

		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(retryPeriod):
			}
		}
	}
}

// take writes the changes of a watch until it ends.
func (f *follower) take(ctx context.Context, watching watch.Interface) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-watching.ResultChan():
			if !open {
				return nil
			}

			if event.Type == watch.Error {
				return apierrors.FromObject(event.Object)
			}
			err := f.change(event)
			if err != nil {
				return err
			}
		}
	}
}

// change writes a change, unless it is a bookmark.
func (f *follower) change(event watch.Event) error {
	object, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("a watch of %s has a %T", f.source.Kind, event.Object)
	}

	revision, err := revisionOf(object)
	if err != nil {
		return err
	}

	kinds := map[watch.EventType]Type{watch.Added: Added, watch.Modified: Modified, watch.Deleted: Deleted}
	if kind, ok := kinds[event.Type]; ok {
		f.write(kind, revision, object)
	}
	f.revision = revision // a bookmark advances it, too

	return nil
}

// list writes the state in the API server. from is the last known revision, 0 at the start.
func (f *follower) list(ctx context.Context, from int64) error {
	list, err := f.source.List(ctx)
	if err != nil {
		return err
	}

	revision, err := revisionOf(list)
	if err != nil {
		return err
	}

	if from > 0 {
		f.writer.Add(Record{Revision: revision, Time: time.Now(), Type: Gap, Kind: f.source.Kind, From: from})
	}

	f.mu.Lock()
	gone := f.known
	f.known = map[types.UID]*unstructured.Unstructured{}
	f.mu.Unlock()

	for i := range list.Items {
		delete(gone, list.Items[i].GetUID())
	}

	for _, object := range gone {
		f.write(Deleted, revision, object)
	}

	for i := range list.Items {
		f.write(Listed, revision, &list.Items[i])
	}

	f.revision = revision
	return nil
}

func (f *follower) write(kind Type, revision int64, object *unstructured.Unstructured) {
	object.SetManagedFields(nil)

	f.mu.Lock()
	if kind == Deleted {
		delete(f.known, object.GetUID())
	} else {
		f.known[object.GetUID()] = object
	}
	f.mu.Unlock()

	text, err := json.Marshal(object)
	if err != nil {
		text, _ = json.Marshal(map[string]string{"error": err.Error()})
	}

	f.writer.Add(Record{Revision: revision, Time: time.Now(), Type: kind, Kind: f.source.Kind, Object: text})
}

// revisionOf returns the revision of etcd, which the resource version states.
func revisionOf(object any) (int64, error) {
	accessor, err := meta.CommonAccessor(object)
	if err != nil {
		return 0, err
	}

	revision, err := strconv.ParseInt(accessor.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("a resource version that is no revision: %w", err)
	}

	return revision, nil
}
