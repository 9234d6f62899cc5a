// Command vc-scheduler is Volcano's scheduler with this module's quota plugins compiled in. It has the flags, the
// leader election and the default actions and plugins of the scheduler it replaces, so nothing but the binary changes
// in a deployment.
package main

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/pflag"
	_ "go.uber.org/automaxprocs"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	cliflag "k8s.io/component-base/cli/flag"
	componentbaseoptions "k8s.io/component-base/config/options"
	"k8s.io/klog/v2"
	"volcano.sh/volcano/cmd/scheduler/app"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	commonutil "volcano.sh/volcano/pkg/util"
	"volcano.sh/volcano/pkg/version"

	// The actions and plugins that Volcano's own scheduler registers, and its assertions.
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
	_ "volcano.sh/volcano/pkg/scheduler/util/assert"

	"github.com/capacity-card/capacity-card/plugin"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run follows the main function of Volcano's cmd/scheduler step by step; a new Volcano version is to be compared here.
func run() error {
	runtime.GOMAXPROCS(runtime.NumCPU())
	klog.InitFlags(nil)
	flags := pflag.CommandLine
	logFlushFrequency := flags.Duration("log-flush-frequency", 5*time.Second, "Maximum number of seconds between log flushes")
	server := options.NewServerOption()
	server.AddFlags(flags)
	utilfeature.DefaultMutableFeatureGate.AddFlag(flags)

	commonutil.LeaderElectionDefault(&server.LeaderElection)
	server.LeaderElection.ResourceName = commonutil.GenerateComponentName(server.SchedulerNames)
	componentbaseoptions.BindLeaderElectionFlags(&server.LeaderElection, flags)
	server.RegisterOptions()
	cliflag.InitFlags()

	if server.PrintVersion {
		version.PrintVersionAndExit()
	}
	if err := server.CheckOptionOrDie(); err != nil {
		return err
	}
	if server.CaCertFile != "" && server.CertFile != "" && server.KeyFile != "" {
		if err := server.ParseCAFiles(nil); err != nil {
			return fmt.Errorf("failed to parse CA file: %w", err)
		}
	}

	// Volcano's plugins registered themselves when their packages were initialized, so this replaces them.
	plugin.Register()

	klog.StartFlushDaemon(*logFlushFrequency)
	defer klog.Flush()
	return app.Run(server)
}
