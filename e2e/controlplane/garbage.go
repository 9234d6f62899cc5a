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

// garbageResync is the period in which the garbage collector looks for new kinds, as in kube-controller-manager.
const garbageResync = 30 * time.Second

// startGarbageCollector runs Kubernetes' garbage collector. Volcano needs this part of kube-controller-manager: it
// removes the pods and the pod group of a deleted job.
func (cp *ControlPlane) startGarbageCollector(context.Context) error {
	client, err := metadata.NewForConfig(cp.RestConfig)
	if err != nil {
		return err
	}

	running, cancel := context.WithCancel(context.Background())
	kube := informers.NewSharedInformerFactory(cp.Kube, 0)
	objects := metadatainformer.NewSharedInformerFactory(client, 0)
	factory := informerfactory.NewInformerFactory(kube, objects)
	started := make(chan struct{})
	close(started) // the collector starts its own informers, and has no others to wait for
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(cp.Kube.Discovery()))
	collector, err := garbagecollector.NewGarbageCollector(running, cp.Kube, client, mapper,
		garbagecollector.DefaultIgnoredResources(), factory, started)
	if err != nil {
		cancel()
		return err
	}

	done := make(chan struct{})
	cp.atStop(func() {
		cancel()
		<-done
	})
	go func() {
		defer close(done)
		collector.Run(running, 2, garbageResync)
	}()
	go collector.Sync(running, cp.Kube.Discovery(), garbageResync)

	return nil
}
