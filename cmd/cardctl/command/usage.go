package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/override"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/store"
)

const usageLong = `Shows what queues have had over time, which orders them where the scheduler's
configuration has the argument fairShareHalfLife.

AVERAGE is the average number of cards that a queue had, where a moment counts half as much
as one that is a half-life later. LEVEL compares AVERAGE and NOW with what the queue
deserves. A queue is compared by the highest level of the cards that its pods WAIT for.
PLACE is its place among the queues below the same parent that wait. EVEN IF IDLE is the
time until the level of the card is 1 if the queue has none of it from now on, and EVEN AS
NOW if it keeps its cards. CARD-HOURS are the hours that AVERAGE stands for, in which
hours of the past count less in the same way.`

const usageExamples = `  cardctl usage
  cardctl usage research --card NVIDIA-H200
  cardctl usage -o wide -f dump.json`

// usageOff is the output where the order by usage over time is off.
const usageOff = "Queues are not ordered by usage over time. To switch it on, set the argument fairShareHalfLife " +
	"of the plugin %s, such as 24h, in the scheduler's configuration.\n"

func newUsage(s *source) *cobra.Command {
	card := ""
	cmd := &cobra.Command{
		Use: "usage [QUEUE]", Short: "Usage of queues over time", Long: usageLong, Example: usageExamples,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: s.completeFirst(s.queueNames),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return s.usage(cmd.Context(), queueArgument(arguments), card)
		},
	}

	cmd.Flags().StringVar(&card, "card", "", "Only this card, or another resource that counts")
	s.bind(cmd, named...)
	s.bindContexts(cmd)
	cmd.AddCommand(newReset(s))
	return cmd
}

func (s *source) usage(ctx context.Context, queue, card string) error {
	all, err := inClusters(ctx, s, func(s *source, ctx context.Context) (*used, error) {
		return s.readUsed(ctx, queue, card)
	})
	if err != nil {
		return err
	}
	return printEach(s, all, (*source).usageResults)
}

// used is the usage of queues over time, by the configuration of their scheduler.
type used struct {
	*engine.Configuration
	queues []queues.Usage
}

func (s *source) readUsed(ctx context.Context, queue, card string) (*used, error) {
	o, err := s.openBelow(ctx, queue)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	if err := checkUsedCard(o.Session, card); err != nil {
		return nil, err
	}
	return &used{o.Configuration, queues.Usages(o.Session, o.wanted, card)}, nil
}

// checkUsedCard returns an error for a card that does not count.
func checkUsedCard(session *engine.Session, card string) error {
	known := sets.New[string]()
	for _, p := range session.Quota.Pasts() {
		for _, c := range p.Columns {
			known.Insert(c.Resource)
		}
	}

	if card == "" || known.Len() == 0 || known.Has(card) {
		return nil
	}
	return unknown("card", card, sets.List(known))
}

// usageDocument is the top level of JSON and YAML output.
type usageDocument struct {
	document.Head
	HalfLife string         `json:"halfLife,omitempty"` // "" where the order by usage over time is off
	Horizon  string         `json:"horizon,omitempty"`
	By       string         `json:"by,omitempty"` // deserved or weight
	Saved    *metav1.Time   `json:"saved,omitempty"`
	Lacks    string         `json:"lacks,omitempty"` // why usage is not known
	Items    []queues.Usage `json:"items"`
}

func (s *source) usageResults(u *used) []*result {
	with := u.FairShare()
	if isData(s.output) {
		d := &usageDocument{Head: document.Of("UsageList"), Lacks: u.UsageLacks, Items: u.queues}
		if with.HalfLife > 0 {
			d.HalfLife = with.HalfLife.String()
			d.Horizon = with.Horizon.String()
			d.By = string(with.By)
		}

		if u.Usage != nil {
			d.Saved = &metav1.Time{Time: u.Usage.Saved}
		}
		return []*result{{data: d}}
	}

	if with.HalfLife == 0 {
		return []*result{{text: fmt.Sprintf(usageOff, u.Plugin)}}
	}

	if u.Usage != nil {
		s.note("usage with a half-life of %s, saved at %s",
			queues.ShortTime(with.HalfLife), u.Usage.Saved.UTC().Format(time.RFC3339))
	}
	t := usageTable(u.queues, with)
	return []*result{orText(t, "No queue deserves, has or has had anything that counts.")}
}

// usageTable has a row for each queue and card.
func usageTable(all []queues.Usage, with arguments.FairShare) *table {
	norm := "DESERVED"
	if with.By == arguments.FairShareByWeight {
		norm = "BY WEIGHT"
	}

	t := tableOf("QUEUE", "PLACE", "CARD", "WAITS", norm, "NOW", "AVERAGE", "(COUNTED)", "LEVEL",
		"EVEN IF IDLE", "(EVEN AS NOW)", "(CARD-HOURS)")
	t.columns[0].once = true
	t.columns[1].once = true

	for _, u := range all {
		place := ""
		if u.Rivals > 1 {
			place = fmt.Sprintf("%d of %d", u.Place, u.Rivals)
		}

		for _, c := range u.Cards {
			waits := ""
			if c.Wanted {
				waits = "yes"
			}

			t.add(strings.Repeat("  ", u.Depth)+u.Queue, place, c.Resource, waits,
				amountOf(&c.Norm, c.Resource), amountOf(&c.Now, c.Resource), amountOf(c.Average, c.Resource),
				amountOf(c.Counted, c.Resource), levelOf(c.Level), c.IdleText(), c.KeptText(),
				amountOf(c.Hours, c.Resource))
		}
	}
	return t
}

func amountOf(x *float64, resource string) string {
	if x == nil {
		return ""
	}
	return explain.Tenths(resource, *x)
}

func levelOf(x *float64) string {
	if x == nil {
		return ""
	}
	return fmt.Sprintf("%.2f", *x)
}

// usageReader reads stored usage from the ConfigMap of a name.
type usageReader func(types.NamespacedName) (*store.Stored, error)

// giveUsage gives a configuration the stored usage of queues over time. If there are budgets or enforced quotas, it
// also gives the use of budgets and the past evictions. It also looks for what only the scheduler knows: the last good
// values of wrong annotations, the cards that pods got before their node changed, and the pods that others were evicted
// for.
func (s *source) giveUsage(c *engine.Configuration, objects *input.Objects, read usageReader) {
	with := c.FairShare()
	budgets := setAnywhere(objects, card.BudgetKey)
	evictions := setAnywhere(objects, policy.EvictionBudgetKey, policy.EnforceQuotaKey)
	wrong := wrongQueues(objects)
	moved := movedPods(objects, c.Settings().Cards.Labels)
	ending, nominated := evictedPods(objects)
	unsure := len(wrong)+len(moved)+len(ending)+len(nominated) > 0
	s.unknown = nil
	if with.HalfLife == 0 && !budgets && !evictions && !unsure {
		return
	}

	stored, lacks := storedIn(with.Store, read)
	known, why := remembered(stored, lacks)
	s.sayRemembered(wrong, known, why)
	s.sayMoved(moved, known, why)
	s.sayEvicted(ending, nominated, known, why)
	usageLacks := lacks
	if stored != nil {
		others := *stored
		others.HalfLife = 0
		c.Budgets = &others
		if err := stored.Fits(&with); err != nil {
			usageLacks = fmt.Sprintf("ConfigMap %s: %s", with.Store, firstLine(err))
		} else {
			c.Usage = stored
		}
	}
	if with.HalfLife > 0 {
		c.UsageLacks = usageLacks
	}

	if lacks != "" && budgets {
		c.BudgetsLack = lacks
		s.warning("the usage of budgets is not known, except for pods that run: %s", lacks)
	}
	if lacks != "" && evictions {
		s.warning("what was evicted before, and since when queues are above their bounds, is not known: %s", lacks)
	}
	if c.UsageLacks != "" {
		s.warning("the usage of queues over time is not known, so their order may differ: %s", c.UsageLacks)
	}
}

// storedIn reads the usage that the scheduler has saved in a ConfigMap. lacks says why there is none.
func storedIn(name types.NamespacedName, read usageReader) (stored *store.Stored, lacks string) {
	if name == arguments.NoStore {
		return nil, fmt.Sprintf("the scheduler does not save it (%s: none)", arguments.StateStore)
	}
	stored, err := read(name)
	if err != nil {
		return nil, fmt.Sprintf("ConfigMap %s: %s", name, firstLine(err))
	}
	return stored, ""
}

// setAnywhere reports whether a queue has one of some annotations, or a window that sets it.
func setAnywhere(objects *input.Objects, keys ...string) bool {
	for _, q := range objects.Queues {
		windows, _ := override.Parse(q.Annotations[override.Key])
		for _, key := range keys {
			inWindow := func(w override.Window) bool { return slices.Contains(w.Keys(), policy.Short(key)) }
			if q.Annotations[key] != "" || slices.ContainsFunc(windows, inWindow) {
				return true
			}
		}
	}
	return false
}

// storedUsage returns a function that reads usage from the input: from the files or the cluster.
func (s *source) storedUsage(ctx context.Context, objects *input.Objects) usageReader {
	return func(name types.NamespacedName) (*store.Stored, error) {
		if len(s.files) > 0 {
			return objects.UsageIn(name)
		}
		config, err := s.cluster.ToRESTConfig()
		if err != nil {
			return nil, err
		}
		return input.ReadUsage(ctx, config, name)
	}
}
