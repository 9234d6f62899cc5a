package controlplane

import (
	"context"
	"fmt"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	vcinformers "volcano.sh/apis/pkg/client/informers/externalversions"
)

// Mirror is an up-to-date copy of the objects in the API server: nodes, pods, events, queues, pod groups and jobs.
type Mirror struct {
	Kube    informers.SharedInformerFactory
	Volcano vcinformers.SharedInformerFactory
}

// StartMirror returns after handler has received every object. Handler receives each change from then on, until
// ctx is done.
func (cp *ControlPlane) StartMirror(ctx context.Context, handler cache.ResourceEventHandler) (*Mirror, error) {
	m := &Mirror{
		Kube:    informers.NewSharedInformerFactory(cp.Kube, 0),
		Volcano: vcinformers.NewSharedInformerFactory(cp.Volcano, 0),
	}

	var synced []cache.InformerSynced
	for _, informer := range []cache.SharedIndexInformer{
		m.Kube.Core().V1().Nodes().Informer(),
		m.Kube.Core().V1().Pods().Informer(),
		m.Kube.Core().V1().Events().Informer(),
		m.Volcano.Scheduling().V1beta1().Queues().Informer(),
		m.Volcano.Scheduling().V1beta1().PodGroups().Informer(),
		m.Volcano.Batch().V1alpha1().Jobs().Informer(),
	} {
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return nil, fmt.Errorf("watching the cluster: %w", err)
		}
		synced = append(synced, registration.HasSynced)
	}

	m.Kube.Start(ctx.Done())
	m.Volcano.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, fmt.Errorf("watching the cluster: %w", ctx.Err())
	}

	return m, nil
}
