package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	vcinformers "volcano.sh/apis/pkg/client/informers/externalversions"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/controllers/framework"
	"volcano.sh/volcano/pkg/scheduler"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/metrics"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"

	// The imports of Volcano's controller manager and scheduler for their registrations.
	_ "volcano.sh/volcano/pkg/controllers/colocationconfig"
	_ "volcano.sh/volcano/pkg/controllers/cronjob"
	_ "volcano.sh/volcano/pkg/controllers/garbagecollector"
	_ "volcano.sh/volcano/pkg/controllers/hypernode"
	_ "volcano.sh/volcano/pkg/controllers/job"
	_ "volcano.sh/volcano/pkg/controllers/jobflow"
	_ "volcano.sh/volcano/pkg/controllers/jobtemplate"
	_ "volcano.sh/volcano/pkg/controllers/podgroup"
	_ "volcano.sh/volcano/pkg/controllers/queue"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
)

// lastCycle bounds the time of a scheduler's last cycle.
const lastCycle = time.Minute

// initMetrics registers the metrics that Volcano's predicates plugin needs, once for the process.
var initMetrics = sync.OnceFunc(metrics.InitKubeSchedulerRelatedMetrics)

// startControllers runs the controllers that Volcano's controller manager runs by default: all except the sharding
// controller, which is not even imported here. The numbers of workers are the defaults, too.
func (cp *ControlPlane) startControllers(context.Context) error {
	option := &framework.ControllerOption{
		KubeClient:              cp.Kube,
		VolcanoClient:           cp.Volcano,
		SharedInformerFactory:   informers.NewSharedInformerFactory(cp.Kube, 0),
		VCSharedInformerFactory: vcinformers.NewSharedInformerFactory(cp.Volcano, 0),
		SchedulerNames:          []string{"volcano"},
		WorkerNum:               3,
		CronJobWorkerNum:        3,
		MaxRequeueNum:           15,
		InheritOwnerAnnotations: true,
		WorkerThreadsForPG:      5,
		WorkerThreadsForQueue:   5,
		WorkerThreadsForGC:      1,
		Config:                  cp.RestConfig,
	}

	var controllers []framework.Controller
	var errs []error
	framework.ForeachController(func(controller framework.Controller) {
		err := controller.Initialize(option)
		if err != nil {
			errs = append(errs, fmt.Errorf("initializing %s: %w", controller.Name(), err))
		}
		controllers = append(controllers, controller)
	})
	err := errors.Join(errs...)
	if err != nil {
		return err
	}

	stop := make(chan struct{})
	cp.atStop(func() { close(stop) })
	for _, controller := range controllers {
		go controller.Run(stop)
	}

	return nil
}

// StartScheduler starts a Volcano scheduler with the configuration in a file. It watches the whole directory, and reads
// the file again at each change in it. StartScheduler returns when the scheduler's caches are full and the first cycle
// has begun. stop waits for the last cycle. Stop does the same. After stop, another scheduler can start on the same
// control plane.
func (cp *ControlPlane) StartScheduler(path string) (stop func(), err error) {
	// The scheduler serves its log level on a socket, by default in a directory shared by all schedulers of a machine.
	err = os.Setenv("DEBUG_SOCKET_DIR", cp.directory)
	if err != nil {
		return nil, err
	}

	serverOption := options.NewServerOption()
	serverOption.AddFlags(pflag.NewFlagSet("vc-scheduler", pflag.ContinueOnError)) // sets the defaults
	serverOption.SchedulerConf = path
	serverOption.SchedulePeriod = cp.schedulePeriod
	serverOption.EnableCacheDumper = false
	serverOption.RegisterOptions()
	initMetrics()

	// Both remember the first scheduler of the process and its clients.
	cache.RegisterBindMethod(nil)
	predicates.ResetVolumeBindingPluginForTest()

	instance, err := scheduler.NewScheduler(cp.RestConfig, serverOption)
	if err != nil {
		return nil, fmt.Errorf("creating the scheduler: %w", err)
	}

	stopped := make(chan struct{})
	stop = sync.OnceFunc(func() {
		close(stopped)
		awaitLastCycle()
	})
	cp.atStop(stop)
	instance.Run(stopped)

	return stop, nil
}

// awaitLastCycle waits until the stopped scheduler runs no cycle. The next scheduler resets global variables of
// Volcano, and a cycle that reads them meanwhile crashes. Nothing signals the end of the loop of Scheduler.Run, so
// awaitLastCycle looks at the stacks of the goroutines.
func awaitLastCycle() {
	over := func(context.Context) (bool, error) {
		var stacks strings.Builder
		err := pprof.Lookup("goroutine").WriteTo(&stacks, 2)
		return err == nil && !cycling(stacks.String()), err
	}

	err := wait.PollUntilContextTimeout(context.Background(), 5*time.Millisecond, lastCycle, true, over)
	if err != nil {
		klog.Errorf("Waiting for the last cycle of the scheduler: %v", err)
	}
}

// cycling reports whether one of the goroutines is the loop of a scheduler's cycles: the wait.Until of Scheduler.Run
// (volcano pkg/scheduler/scheduler.go:98).
func cycling(stacks string) bool {
	const createdByRun = "created by volcano.sh/volcano/pkg/scheduler.(*Scheduler).Run "
	return slices.ContainsFunc(strings.Split(stacks, "\n\n"), func(stack string) bool {
		return strings.Contains(stack, "/wait.Until(") && strings.Contains(stack, createdByRun)
	})
}
