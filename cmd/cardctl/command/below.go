package command

import (
	"context"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
)

// opened is an open session on the input.
type opened struct {
	*engine.Session
	world *engine.World
	// wanted selects the queue of the command and the queues below it, or all queues.
	wanted func(name string) bool
}

// openBelow reads the cluster or the files and opens a session. queue selects a queue and the queues below it, "" all.
func (s *source) openBelow(ctx context.Context, queue string) (*opened, error) {
	world, configuration, err := s.load(ctx)
	if err != nil {
		return nil, err
	}

	wanted, err := below(world, configuration, queue)
	if err != nil {
		return nil, err
	}

	session, err := engine.Open(ctx, world, configuration)
	if err != nil {
		return nil, err
	}
	return &opened{session, world, wanted}, nil
}

// queueArgument returns the queue of commands that take one or none, "" for none.
func queueArgument(arguments []string) string {
	return strings.TrimPrefix(strings.Join(arguments, ""), "queue/")
}

// below returns a function that selects a queue and all queues below it, or all queues for "". A name on a path of
// annotations needs no Queue object.
func below(world *engine.World, configuration *engine.Configuration, queue string) (func(name string) bool, error) {
	if queue == "" {
		return func(string) bool { return true }, nil
	}
	tree, _ := world.Tree(configuration)
	top := tree.Lookup(queue)
	if top == index.None || world.Queue(queue) == nil && tree.IsLeaf(top) {
		return nil, unknown("queue", queue, world.QueueNames())
	}

	return func(name string) bool {
		q := tree.Lookup(name)
		return q != index.None && slices.Contains(tree.Path(q), top)
	}, nil
}
