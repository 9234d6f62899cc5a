// Command proportion is the plugin proportion as a shared object, for a scheduler with --plugins-dir: the drop-in for
// Volcano's plugin of that name. Volcano uses the name of the file as the name of the plugin.
package main

import (
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin"
)

func init() { plugin.RegisterActions() }

// New is the symbol that Volcano looks up.
func New(arguments framework.Arguments) framework.Plugin { return plugin.NewProportion(arguments) }

func main() {}
