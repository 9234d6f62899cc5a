package version

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/client-go/rest"

	"github.com/capacity-card/capacity-card/plugin/release"
)

func TestText(t *testing.T) {
	end := runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	rules := release.Built().String()
	build := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.0"},
		Deps: []*debug.Module{
			{Path: "k8s.io/kubernetes", Version: "v1.34.1"}, {Path: "other", Version: "v3.0.0"},
			{Path: "volcano.sh/volcano", Version: "v1.14.1", Replace: &debug.Module{Path: "volcano.sh/volcano", Version: "v1.15.0"}},
		},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "8a7c2f1d"}, {Key: "vcs.modified", Value: "false"}},
	}
	assert.Equal(t, "cardctl v1.2.0\ncommit      8a7c2f1d\nVolcano     v1.15.0, rules of "+rules+"\nKubernetes  v1.34.1\nGo          "+end, from(build).Text("cardctl"))
	build.Settings[1].Value = "true"
	assert.Equal(t, "8a7c2f1d with changes", from(build).Commit)
	assert.Equal(t, "load unknown\ncommit      unknown\nVolcano     unknown, rules of "+rules+"\nKubernetes  unknown\nGo          "+end,
		from(&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}).Text("load"))
}

// TestUserAgent expects client-go to read the variables that SetUserAgent sets.
func TestUserAgent(t *testing.T) {
	before := rest.DefaultKubernetesUserAgent()
	Info{Release: unknown, Commit: unknown}.SetUserAgent()
	assert.Equal(t, before, rest.DefaultKubernetesUserAgent())
	Info{Release: "v1.2.0", Commit: "8a7c2f1d3344 with changes"}.SetUserAgent()
	assert.Equal(t, "version.test/v1.2.0 ("+runtime.GOOS+"/"+runtime.GOARCH+") kubernetes/8a7c2f1", rest.DefaultKubernetesUserAgent())
}
