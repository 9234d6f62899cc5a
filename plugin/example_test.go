package plugin_test

import (
	"fmt"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin"
)

// The main function of a scheduler registers the names before it starts. A
// configuration then finds the engine under each of them.
func ExampleRegister() {
	plugin.Register()
	for _, name := range plugin.Names {
		build, found := framework.GetPluginBuilder(name)
		fmt.Println(name, found, build(nil).Name() == name)
	}
	// Output:
	// capacity-card true true
	// capacity true true
	// proportion true true
}
