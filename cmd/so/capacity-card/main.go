// Command capacity-card is the plugin capacity-card as a shared object, for a scheduler with --plugins-dir: quotas per
// card model. Volcano uses the name of the file as the name of the plugin.
package main

import (
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin"
)

func init() { plugin.RegisterActions() }

// New is the symbol that Volcano looks up.
func New(arguments framework.Arguments) framework.Plugin { return plugin.New(arguments) }

func main() {}
