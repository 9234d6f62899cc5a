package release

import (
	"context"

	"k8s.io/client-go/informers"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"volcano.sh/volcano/pkg/scheduler/cache"
)

// WithDevices returns a cache with these objects for a session without an API server. Only SharedDRAManager may be
// called.
func WithDevices(o DeviceObjects) cache.Cache {
	// From v1.16 on, the plugin predicates needs a manager even without objects: Kubernetes maps resources to device
	// classes there.
	if o.Empty() && Built() < V116 {
		return withoutDRA(cache.Cache.SharedDRAManager)
	}

	factory := informers.NewSharedInformerFactory(nil, 0)
	slices, classes := factory.Resource().V1().ResourceSlices(), factory.Resource().V1().DeviceClasses()
	for _, slice := range o.Slices {
		_ = slices.Informer().GetIndexer().Add(slice) // fails for objects without a name
	}

	for _, class := range o.Classes {
		_ = classes.Informer().GetIndexer().Add(class)
	}

	ctx := context.Background()
	bySlices, err := tracker.StartTracker(ctx, tracker.Options{SliceInformer: slices})
	if err != nil {
		return withoutDRA(cache.Cache.SharedDRAManager) // not without the informers of taints
	}

	claims := assumecache.NewAssumeCache(klog.FromContext(ctx), added(o), "ResourceClaim", "", nil)
	return withDRA(cache.Cache.SharedDRAManager, dynamicresources.NewDRAManager(ctx, claims, bySlices, factory))
}

// added is an informer that has all claims at once.
type added DeviceObjects

func (o added) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	for _, claim := range o.Claims {
		h.OnAdd(claim, true)
	}
	return nil, nil
}

func withDRA[M any](_ func(cache.Cache) M, manager any) cache.Cache {
	return any(&someDRA[M]{manager: manager.(M)}).(cache.Cache)
}

// someDRA is a cache with a manager of type M.
type someDRA[M any] struct {
	cache.Cache
	manager M
}

// SharedDRAManager returns the manager.
func (c *someDRA[M]) SharedDRAManager() M { return c.manager }
