package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/capacity-card/capacity-card/plugin/guard"
)

// The configuration of Volcano's scheduler, as its installation names it.
const (
	VolcanoNamespace  = "volcano-system"
	schedulerConfig   = "volcano-scheduler-configmap"
	configurationFile = "volcano-scheduler.conf"
)

// StartInstalledScheduler starts a Volcano scheduler with the configuration of the ConfigMap
// volcano-scheduler-configmap. It follows the ConfigMap as cmd/vc-scheduler in a pod does: it logs a wrong change and
// does not apply it. stop works as in StartScheduler.
func (cp *ControlPlane) StartInstalledScheduler(ctx context.Context) (stop func(), err error) {
	directory, err := cp.Mount(ctx, VolcanoNamespace, schedulerConfig)
	if err != nil {
		return nil, fmt.Errorf("mounting ConfigMap %s/%s: %w", VolcanoNamespace, schedulerConfig, err)
	}

	stage, err := guard.NewStage(filepath.Join(directory, configurationFile))
	if err != nil {
		return nil, fmt.Errorf("reading the scheduler configuration: %w", err)
	}

	cp.atStop(stage.Close)
	go stage.Follow()
	return cp.StartScheduler(stage.Path())
}

// Mount keeps the files of a ConfigMap up to date in a directory, as the kubelet does for a pod.
func (cp *ControlPlane) Mount(ctx context.Context, namespace, name string) (directory string, err error) {
	directory, err = os.MkdirTemp(cp.directory, "configmap-")
	if err != nil {
		return "", err
	}

	one := func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	}
	factory := informers.NewSharedInformerFactoryWithOptions(cp.Kube, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(one))

	write := func(object any) {
		err := writeFiles(directory, object.(*corev1.ConfigMap).Data)
		if err != nil {
			klog.Errorf("Writing the files of ConfigMap %s/%s: %v", namespace, name, err)
		}
	}
	registration, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    write,
		UpdateFunc: func(_, object any) { write(object) },
	})
	if err != nil {
		return "", err
	}

	running, cancel := context.WithCancel(context.Background())
	cp.atStop(func() {
		cancel()
		factory.Shutdown()
	})
	factory.Start(running.Done())
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return "", ctx.Err()
	}

	return directory, nil
}

// writeFiles replaces files by renames, so that nobody reads a partial file.
func writeFiles(directory string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(directory, name)
		err := os.WriteFile(path+".next", []byte(text), 0o600)
		if err != nil {
			return err
		}

		err = os.Rename(path+".next", path)
		if err != nil {
			return err
		}
	}

	return nil
}
