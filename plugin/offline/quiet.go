package offline

import (
	"flag"
	"io"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/cmd/scheduler/app/options"
)

// Quiet sets the options that Volcano's scheduler expects, and discards its log. The clusters of tests cause many
// errors on purpose.
func Quiet() {
	options.Default()
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	_ = flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
}
