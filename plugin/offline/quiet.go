package offline

import (
	"flag"
	"io"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/cmd/scheduler/app/options"
)

// Quiet sets the options that Volcano's scheduler takes for granted and throws
// its log away, errors included: made clusters are full of them on purpose.
func Quiet() {
	options.Default()
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	_ = flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
}
