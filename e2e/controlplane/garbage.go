package controlplane

import (
	"context"
	"time"

	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
)

// garbageResync is how often the garbage collector looks for new kinds, as in kube-controller-manager.
const garbageResync = 30 * time.Second

// startGarbageCollector runs Kubernetes' garbage collector, the one part of kube-controller-manager that Volcano cannot
// do without: it removes the pods and the pod group of a job that is deleted.
func (cp *ControlPlane) startGarbageCollector(context.Context) error {
	client, err := metadata.NewForConfig(cp.RestConfig)
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	kube := informers.NewSharedInformerFactory(cp.Kube, 0)
	objects := metadatainformer.NewSharedInformerFactory(client, 0)
	factory := informerfactory.NewInformerFactory(kube, objects)
	started := make(chan struct{})
	close(started) // there are no informers yet that the collector would have to wait for; it starts its own
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(cp.Kube.Discovery()))
	collector, err := garbagecollector.NewGarbageCollector(running, cp.Kube, client, mapper,
		garbagecollector.DefaultIgnoredResources(), factory, started)
	if err != nil {
		cancel()
		return err
	}
	cp.stops = append(cp.stops, func() error {
		cancel()
		<-done
		return nil
	})
	go func() {
		defer close(done)
		collector.Run(running, 2, garbageResync)
	}()
	go collector.Sync(running, cp.Kube.Discovery(), garbageResync)
	return nil
}
