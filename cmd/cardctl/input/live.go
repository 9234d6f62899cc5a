package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// Live follows a cluster: it lists the objects once and watches them afterwards. It writes nothing.
type Live struct {
	kube       kubernetes.Interface
	host       string
	configured bool // includes the scheduler's Deployment and ConfigMap
	kinds      []*followed
	changed    chan struct{}

	mu         sync.Mutex
	answered   time.Time       // the last answer of the API server
	configMaps []*v1.ConfigMap // of the last reading
	usage      usageReading
	evicted    []Evicted
	pastLacks  string // why earlier evictions are missing
}

// followed is a watched kind of object.
type followed struct {
	list
	informer cache.SharedIndexInformer

	mu    sync.Mutex
	tried bool
	lacks bool      // the cluster does not know the kind
	err   error     // of the last call
	ended time.Time // the end of the last call
}

// Follow follows a cluster until ctx is done. With configured, this includes the scheduler's Deployment and ConfigMap.
func Follow(ctx context.Context, config *rest.Config, configured bool) (*Live, error) {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return prompt{next} })
	kube, volcano, err := clientsOf(config)
	if err != nil {
		return nil, err
	}

	l := &Live{kube: kube, host: config.Host, configured: configured, changed: make(chan struct{}, 1)}
	for _, each := range listsOf(kube, volcano, configured) {
		k := &followed{list: each}
		k.informer = cache.NewSharedIndexInformer(l.listWatch(k), each.object, 0, cache.Indexers{})
		if err := k.informer.SetTransform(strip); err != nil {
			return nil, err
		}
		// Errors are noted in listWatch. The default handler logs each attempt.
		quiet := func(context.Context, *cache.Reflector, error) {}
		if err := k.informer.SetWatchErrorHandlerWithContext(quiet); err != nil {
			return nil, err
		}
		if _, err := k.informer.AddEventHandler(l.handler()); err != nil {
			return nil, err
		}
		l.kinds = append(l.kinds, k)
	}

	for _, k := range l.kinds {
		go k.informer.RunWithContext(ctx)
	}

	return l, nil
}

// listWatch returns the calls of the API server. They note whether it answers.
func (l *Live) listWatch(k *followed) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			result, err := k.get(ctx, o)
			l.note(ctx, k, err)
			return result, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			result, err := k.watch(ctx, o)
			l.note(ctx, k, err)
			return result, err
		},
	}
}

// note notes the result of a call.
func (l *Live) note(ctx context.Context, k *followed, err error) {
	// After these errors, the informer lists again.
	again := apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.IsTooManyRequests(err)
	if again || ctx.Err() != nil {
		return
	}

	lacks := k.optional && apierrors.IsNotFound(err)
	err = k.explain(err, l.host)
	answered := !errors.Is(err, errAway)

	k.mu.Lock()
	same := k.tried && (k.err == nil) == (err == nil)
	k.tried = true
	k.lacks = lacks
	k.err = err
	k.ended = time.Now()
	k.mu.Unlock()

	if answered {
		l.mu.Lock()
		l.answered = time.Now()
		l.mu.Unlock()
	}

	if !same {
		l.signal()
	}
}

// handler notes changes and evicted pods.
func (l *Live) handler() cache.ResourceEventHandler {
	note := func(object any) {
		l.noteEvicted(object)
		l.signal()
	}

	return cache.ResourceEventHandlerFuncs{
		AddFunc:    note,
		UpdateFunc: func(_, object any) { note(object) },
		DeleteFunc: note,
	}
}

func (l *Live) signal() {
	select {
	case l.changed <- struct{}{}:
	default: // a signal is pending
	}
}

// Changed receives a value after each change of an object, and after the connection is lost or restored. One value
// stands for all changes since the last value.
func (l *Live) Changed() <-chan struct{} { return l.changed }

// strip drops the parts of an object that no decision depends on.
func strip(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	if !isOther(object) {
		return object, nil
	}

	d := object.(*appsv1.Deployment)
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace:       d.Namespace,
		Name:            d.Name,
		UID:             d.UID,
		ResourceVersion: d.ResourceVersion,
	}}, nil
}

// ErrNotRead is the error if no object of a cluster was read yet.
var ErrNotRead = errors.New("the cluster has not been read yet")

// Objects returns the current objects of the cluster. The caller must not change them. A warning names each kind that
// cannot be read. If the API server does not answer, Objects returns an error with the last known objects, or with nil.
func (l *Live) Objects(ctx context.Context) (*Objects, error) {
	if err := l.await(ctx); err != nil {
		return nil, err
	}

	o := newComplete()
	var away, refused []error
	some := false
	for _, k := range l.kinds {
		err := l.errorOf(k)
		synced := k.informer.HasSynced()
		if synced {
			some = true
			l.add(o, k)
		} else if !k.optional {
			o.complete = false
			o.Unread = append(o.Unread, k.kind)
		}

		switch {
		case err == nil:
		case errors.Is(err, errAway):
			away = append(away, err)
		case synced:
			o.Warnings = append(o.Warnings, fmt.Sprintf("%v; what was read before counts", err))
		default:
			o.Warnings = append(o.Warnings, err.Error())
			refused = append(refused, err)
		}
	}
	if !some {
		return nil, cmp.Or(joinOnce(away), l.withoutRights(refused), ErrNotRead)
	}

	if len(away) == 0 {
		l.readConfigMapsOf(ctx, o)
	} else {
		l.addConfigMaps(o)
	}

	return o, joinOnce(away)
}

// withoutRights returns the error of a cluster in which no kind can be listed. errs are the errors of the kinds.
func (l *Live) withoutRights(errs []error) error {
	kinds := Forbidden(errors.Join(errs...))
	if len(kinds) == 0 {
		return joinOnce(errs)
	}
	return fmt.Errorf("no permission to list any of %s in all namespaces of %s: "+
		"the ClusterRole %s (deploy/cardctl) has it",
		strings.Join(kinds, ", "), l.host, ViewerRole)
}

// errorOf returns the error of the last call for a kind. If the API server has answered a later call, it is not away:
// the kind will be tried again.
func (l *Live) errorOf(k *followed) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()

	if errors.Is(k.err, errAway) && l.answered.After(k.ended) && k.informer.HasSynced() {
		return nil
	}
	return k.err
}

// add adds the objects of a kind in the order of their names.
func (l *Live) add(o *Objects, k *followed) {
	var all []metav1.Object
	for _, object := range k.informer.GetStore().List() {
		if !isOther(object) {
			all = append(all, object.(metav1.Object))
		}
	}

	slices.SortFunc(all, func(a, b metav1.Object) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	for _, object := range all {
		o.add(object, Source{})
	}
}

// awaitStep is the time between two checks in await.
const awaitStep = 50 * time.Millisecond

// await waits until each kind was listed or cannot be listed.
func (l *Live) await(ctx context.Context) error {
	settled := func(k *followed) bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.informer.HasSynced() || k.tried && (k.err != nil || k.lacks)
	}

	return wait.PollUntilContextCancel(ctx, awaitStep, true, func(context.Context) (bool, error) {
		return count(l.kinds, settled) == len(l.kinds), nil
	})
}

// configMapPatience bounds the time to read the scheduler's ConfigMap.
const configMapPatience = 5 * time.Second

// readConfigMapsOf reads the scheduler's ConfigMaps. While the API server does not answer, the last reading counts.
func (l *Live) readConfigMapsOf(ctx context.Context, o *Objects) {
	if !l.configured {
		return
	}

	ctx, cancel := context.WithTimeout(ctx, configMapPatience)
	defer cancel()
	err := o.readConfigMaps(ctx, l.kube, l.host)
	switch {
	case err == nil:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.configMaps = o.ConfigMaps
	case errors.Is(err, errAway):
		l.addConfigMaps(o)
	default:
		o.Warnings = append(o.Warnings, err.Error())
	}
}

// addConfigMaps adds the ConfigMaps of the last reading.
func (l *Live) addConfigMaps(o *Objects) {
	l.mu.Lock()
	defer l.mu.Unlock()

	for _, m := range l.configMaps {
		o.add(m, Source{})
	}
}

// The lease of Volcano's scheduler.
const (
	leaseNamespace = "volcano-system"
	leaseName      = "volcano"
)

// Leader returns the leader among the schedulers, and the time when it renewed its lease.
func (l *Live) Leader(ctx context.Context) (name string, renewed time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, configMapPatience)
	defer cancel()

	lease, err := l.kube.CoordinationV1().Leases(leaseNamespace).Get(ctx, leaseName, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return "", renewed, fmt.Errorf("no permission to get the lease %s/%s of %s, which names the leader",
			leaseNamespace, leaseName, l.host)
	case apierrors.IsNotFound(err):
		return "", renewed, fmt.Errorf("there is no lease %s/%s: the scheduler runs without an election, or not at all",
			leaseNamespace, leaseName)
	case err != nil:
		return "", renewed, list{kind: "leases"}.explain(err, l.host)
	}

	renewed = ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).Time
	return ptr.Deref(lease.Spec.HolderIdentity, ""), renewed, nil
}
