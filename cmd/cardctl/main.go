// Command cardctl explains the quotas of Volcano's queues to operators. It shows why jobs wait and who uses which
// cards, finds problems of queues, and simulates changes. It runs the quota plugin of this module on a live cluster,
// which it only reads, or on files.
package main

import (
	"os"

	_ "k8s.io/client-go/plugin/pkg/client/auth"

	"github.com/capacity-card/capacity-card/cmd/cardctl/command"
)

func main() { command.Main(os.Args) }
