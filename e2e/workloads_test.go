package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	autoscaling "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// startWorkloadControllers runs Kubernetes' own controllers of Deployments, ReplicaSets, ResourceClaims and
// HorizontalPodAutoscalers, until ctx ends. Only the metric that autoscalers see is made up.
func startWorkloadControllers(ctx context.Context, cp *controlplane.ControlPlane, metric *load) error {
	for _, start := range []func(context.Context) error{cp.StartWorkloadControllers, cp.StartClaimController} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	factory := informers.NewSharedInformerFactory(cp.Kube, 0)
	discovery := cp.Kube.Discovery()
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discovery))
	scales, err := scale.NewForConfig(cp.RestConfig, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(discovery))
	if err != nil {
		return fmt.Errorf("creating the client of scales: %w", err)
	}
	// Where the defaults of kube-controller-manager wait for minutes before they scale down, this does not.
	const often, tolerance = 200 * time.Millisecond, 0.1
	autoscalers := podautoscaler.NewHorizontalController(ctx, cp.Kube.CoreV1(), scales, cp.Kube.AutoscalingV2(), mapper, metric,
		factory.Autoscaling().V2().HorizontalPodAutoscalers(), factory.Core().V1().Pods(), often, 0, tolerance, 0, 0)

	factory.Start(ctx.Done())
	go autoscalers.Run(ctx, 1)
	return nil
}

// load is the one metric that autoscalers can see: an external one, whatever its name.
type load struct{ value atomic.Int64 }

func (l *load) set(value int64) { l.value.Store(value) }

var errNoMetric = errors.New("only external metrics are played")

func (l *load) GetExternalMetric(string, string, labels.Selector) ([]int64, time.Time, error) {
	return []int64{l.value.Load() * 1000}, time.Now(), nil
}

func (*load) GetResourceMetric(context.Context, corev1.ResourceName, string, labels.Selector, string) (metrics.PodMetricsInfo, time.Time, error) {
	return nil, time.Time{}, errNoMetric
}

func (*load) GetRawMetric(string, string, labels.Selector, labels.Selector) (metrics.PodMetricsInfo, time.Time, error) {
	return nil, time.Time{}, errNoMetric
}

func (*load) GetObjectMetric(string, string, *autoscaling.CrossVersionObjectReference, labels.Selector) (int64, time.Time, error) {
	return 0, time.Time{}, errNoMetric
}
