package plugin

import (
	"flag"
	"io"
	"os"
	"testing"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/cmd/scheduler/app/options"
)

func TestMain(m *testing.M) {
	options.Default()
	quiet := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(quiet)
	_ = quiet.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}
