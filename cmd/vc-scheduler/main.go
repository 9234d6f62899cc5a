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
	"volcano.sh/volcano/pkg/scheduler/framework"
	commonutil "volcano.sh/volcano/pkg/util"

	// The actions and plugins that Volcano's own scheduler registers, and its assertions.
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
	_ "volcano.sh/volcano/pkg/scheduler/util/assert"

	"github.com/capacity-card/capacity-card/cmd/internal/version"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/guard"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// loadPlugins registers the plugins of --plugins-dir. Volcano would do that after the configuration was checked.
func loadPlugins(server *options.ServerOption) error {
	if server.PluginsDir == "" {
		return nil
	}
	if err := framework.LoadCustomPlugins(server.PluginsDir); err != nil {
		return fmt.Errorf("loading the plugins of --plugins-dir %s: %w "+
			"(shared objects have to be built of the same versions and with the same flags as this program, with cgo: "+
			"\"make so SCHEDULER=...\" does that for the shared objects of capacity-card, or says why it cannot be)",
			server.PluginsDir, err)
	}
	server.PluginsDir = ""
	return nil
}

// run follows the main function of Volcano's cmd/scheduler step by step. Compare it with each new version of Volcano.
func run() error {
	runtime.GOMAXPROCS(runtime.NumCPU())
	klog.InitFlags(nil)

	flags := pflag.CommandLine
	logFlushFrequency := flags.Duration("log-flush-frequency", 5*time.Second,
		"Maximum number of seconds between log flushes")
	allowUnsafe := flags.Bool("allow-unsafe-conf", false,
		"Start with any --scheduler-conf and follow any change of it, as Volcano does: "+
			"plugins that are not registered are skipped, and several quota plugins may be in force together")
	server := options.NewServerOption()
	server.AddFlags(flags)
	utilfeature.DefaultMutableFeatureGate.AddFlag(flags)

	commonutil.LeaderElectionDefault(&server.LeaderElection)
	server.LeaderElection.ResourceName = commonutil.GenerateComponentName(server.SchedulerNames)
	componentbaseoptions.BindLeaderElectionFlags(&server.LeaderElection, flags)
	server.RegisterOptions()
	cliflag.InitFlags()

	if server.PrintVersion {
		fmt.Print(version.Of().Text("vc-scheduler"))
		return nil
	}
	version.Of().SetUserAgent()

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
	if err := loadPlugins(server); err != nil {
		return err
	}
	if server.SchedulerConf != "" && !*allowUnsafe {
		stage, err := guard.NewStage(server.SchedulerConf)
		if err != nil {
			return fmt.Errorf("the scheduler's configuration is refused "+
				"(--allow-unsafe-conf starts with it all the same): %w", err)
		}
		defer stage.Close()
		go stage.Follow()
		server.SchedulerConf = stage.Path()
	}

	klog.StartFlushDaemon(*logFlushFrequency)
	defer klog.Flush()
	klog.Infof("capacity-card %s: built with Volcano %s, quotas by the rules of %s",
		version.Of().Release, version.Of().Volcano, version.Of().Rules)
	return app.Run(server)
}
