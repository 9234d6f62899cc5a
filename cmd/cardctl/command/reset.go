package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/plugin/store"
)

const resetLong = `Sets the usage of a queue, and of the queues below it, to what they have now, so that
what they have had before does not count any more. The usage of the queues above becomes
smaller by the difference. It writes the ConfigMap in which the scheduler saves usage. A
running scheduler takes it over with its next save.`

const resetExamples = `  # What it would change
  cardctl usage reset research --dry-run=client

  cardctl usage reset research --yes`

// reset runs usage reset.
type reset struct {
	dryRun string // none, client or server, as kubectl has it
	yes    bool
}

var dryRuns = []string{"none", "client", "server"}

func newReset(s *source) *cobra.Command {
	r := &reset{}
	cmd := &cobra.Command{
		Use: "reset QUEUE", Short: "Forget the usage of a queue", Long: resetLong, Example: resetExamples,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.completeFirst(s.queueNames),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			switch {
			case !slices.Contains(dryRuns, r.dryRun):
				return fmt.Errorf("unknown value %q of --dry-run: none, client or server", r.dryRun)
			case len(s.files) > 0:
				return errors.New("usage reset changes a cluster: it takes no files")
			case r.dryRun == "none" && !r.yes:
				return errors.New("usage reset cannot be undone: " +
					"see what it does with --dry-run=client, and confirm it with --yes")
			}

			return s.reset(cmd.Context(), arguments[0], r)
		},
	}

	cmd.Flags().StringVar(&r.dryRun, "dry-run", "none",
		"none, client to write nothing, or server to let the API server check what would be written")
	cmd.Flags().BoolVarP(&r.yes, "yes", "y", false, "Confirm that the usage of the queue is forgotten")
	complete(cmd, "dry-run", dryRuns)

	s.bind(cmd)
	for _, name := range []string{"filename", "recursive"} { // they are refused
		_ = cmd.Flags().MarkHidden(name)
	}
	return cmd
}

// mostResets bounds the tries to write while the scheduler saves in between.
const mostResets = 3

func (s *source) reset(ctx context.Context, queue string, r *reset) error {
	world, c, err := s.load(ctx)
	if err != nil {
		return err
	}
	wanted, err := below(world, c, queue)
	if err != nil {
		return err
	}

	with := c.FairShare()
	if with.HalfLife == 0 {
		return fmt.Errorf("queues are not ordered by usage over time: plugin %s has no argument fairShareHalfLife",
			c.Plugin)
	}
	config, err := s.cluster.ToRESTConfig()
	if err != nil {
		return err
	}

	for tries := range mostResets {
		if tries > 0 { // the scheduler has saved in between
			c.Usage = nil
			c.UsageLacks = ""
			s.giveUsage(c, input.New(), s.storedUsage(ctx, nil))
		}
		if c.Usage == nil {
			return fmt.Errorf("there is no usage to reset: %s", c.UsageLacks)
		}

		before, after, err := resetIn(ctx, world, c, queue, wanted)
		if err != nil {
			return err
		}
		all, err := store.Write(with.Store, after, "cardctl/"+string(uuid.NewUUID()))
		if err != nil {
			return err
		}

		if r.dryRun != "client" {
			err = input.WriteUsage(ctx, config, all, r.dryRun == "server")
		}
		if err == nil {
			return s.printReset(queue, before, r, with.Store.String(), with.Save)
		}
		if !apierrors.IsConflict(err) {
			return err
		}
	}
	return errors.New("the scheduler saves usage at the same time: try again")
}

// resetIn returns the usage of the wanted queues before the reset of a queue, and the usage of all queues after it.
// Both are of the time of the last save, so that they do not depend on the clock of this machine. The scheduler charges
// the time since then.
func resetIn(
	ctx context.Context, world *engine.World, c *engine.Configuration, queue string, wanted func(name string) bool,
) ([]queues.Usage, *store.Stored, error) {
	saved := *c.Usage
	saved.Now = saved.Saved
	own := *c
	own.Usage = &saved
	session, err := engine.Open(ctx, world, &own)
	if err != nil {
		return nil, nil, err
	}
	defer session.Close()

	before := queues.Usages(session, wanted, "")
	usage := session.Quota.ForgetUsage(queue)
	if usage == nil {
		return nil, nil, fmt.Errorf("queue %s is not in the tree", queue)
	}

	// The rest of the record stays. The scheduler takes over a record that is later than its own.
	after := saved
	after.Record.Record = *usage
	after.Saved = saved.Saved.Add(time.Millisecond)
	return before, &after, nil
}

func (s *source) printReset(queue string, before []queues.Usage, r *reset, store string, save time.Duration) error {
	out := s.streams.Out
	for _, u := range before {
		for _, card := range u.Cards {
			if card.Average != nil {
				fmt.Fprintf(out, "queue %s: usage of %s: %s, then %s\n", u.Queue, card.Resource,
					explain.Tenths(card.Resource, *card.Average), explain.Tenths(card.Resource, card.Now))
			}
		}
	}

	mode := map[string]string{"client": " (dry run)", "server": " (server dry run)"}[r.dryRun]
	_, err := fmt.Fprintf(out, "usage of queue %s reset in ConfigMap %s%s\n", queue, store, mode)
	if r.dryRun == "none" {
		s.note("the scheduler takes it over within %s", queues.ShortTime(save))
	}
	return err
}
