package command

import (
	"context"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
)

// queueArgument returns the queue of commands that take one or none, "" for none.
func queueArgument(arguments []string) string {
	if len(arguments) == 0 {
		return ""
	}
	return strings.TrimPrefix(arguments[0], "queue/")
}

// openBelow reads the cluster or the files and opens a session. wanted selects a queue and those below it, all for "".
func (s *source) openBelow(ctx context.Context, queue string) (session *engine.Session, wanted func(name string) bool, err error) {
	world, configuration, err := s.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	wanted = func(string) bool { return true }
	if queue != "" {
		below, err := subtree(world, configuration, queue)
		if err != nil {
			return nil, nil, err
		}
		wanted = func(name string) bool { return below[name] }
	}
	session, err = engine.Open(ctx, world, configuration)
	return session, wanted, err
}
