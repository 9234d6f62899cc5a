// Command cardctl shows operators what the quotas of Volcano's queues do: why jobs
// wait, who uses which cards, what is wrong with queues, and what a change would
// have as its result. It runs the quota plugin of this module on a live cluster, which it
// only reads, or on files.
package main

import (
	"os"

	_ "k8s.io/client-go/plugin/pkg/client/auth"

	"github.com/capacity-card/capacity-card/cmd/cardctl/command"
)

func main() { command.Main(os.Args) }
