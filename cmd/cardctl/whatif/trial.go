package whatif

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
)

// Change lists the changes of a simulation.
type Change struct {
	Add    *input.Objects // nil: none
	Set    []string       // settings, as Set takes them
	Remove []string       // objects, as Remove takes them
	// Namespace is the namespace of jobs to remove that are named without one, "" for any.
	Namespace string
	Rights    Rights
	At        time.Time // of the cluster after the change, zero for now
}

// ManifestError is the error about a manifest to add that cannot be read.
type ManifestError struct{ input.Problem }

// Error is the problem in one line.
func (e ManifestError) Error() string { return e.Problem.String() }

// Trial is the outcome of a simulation.
type Trial struct {
	*Comparison
	Objects  *input.Objects // with the added objects
	World    *engine.World  // after the change
	Warnings []string
}

// Try simulates a change of objects, which stay as they are. It ends when ctx is done, with its error. report may be
// nil; it is called with "before" and "after".
func Try(
	ctx context.Context, objects *input.Objects, c *engine.Configuration, change Change,
	report func(what string) func(cycle, events int),
) (*Trial, error) {
	t := &Trial{Objects: objects.Clone()}
	patches, undo, err := t.apply(objects, change, c)
	if err != nil {
		return nil, err
	}
	if report == nil {
		report = func(string) func(int, int) { return nil }
	}

	world, err := engine.Build(objects.Clone())
	if err != nil {
		return nil, err
	}
	before, err := Run(ctx, world, c, report("before"))
	if err != nil {
		return nil, err
	}

	// Windows of queues hold as they do at the time of the change.
	then := *c
	then.At = change.At
	after, err := Run(ctx, t.World, &then, report("after"))
	if err != nil {
		return nil, err
	}

	t.Comparison = Compare(before, after)
	t.Patches = patches
	t.Undo = undo
	return t, ctx.Err()
}

// apply makes the world after the change of objects. It returns the commands that make the change in a cluster, and the
// commands that take it back.
func (t *Trial) apply(
	objects *input.Objects, change Change, c *engine.Configuration,
) (patches, undo []string, err error) {
	if change.Add != nil {
		if err := t.add(change.Add, change.Rights); err != nil {
			return nil, nil, err
		}
	}

	t.World, err = engine.Build(t.Objects)
	if err != nil {
		return nil, nil, err
	}

	were := slices.Clone(t.World.Queues)
	if err := t.set(change.Set, c); err != nil {
		return nil, nil, err
	}

	// The commands name queues that the change removes afterwards.
	patches, undo, err = commands(objects, were, t.World, change)
	if err != nil {
		return nil, nil, err
	}
	for _, object := range change.Remove {
		if err := Remove(t.World, object, change.Namespace, change.Rights); err != nil {
			return nil, nil, err
		}
	}
	return patches, undo, nil
}

// add adds the objects of manifests, as far as the user may see them.
func (t *Trial) add(add *input.Objects, rights Rights) error {
	if len(add.Problems) > 0 {
		return ManifestError{add.Problems[0]}
	}
	if err := permit(add, rights); err != nil {
		return err
	}

	for _, m := range add.ConfigMaps {
		t.warn("--add %s: ConfigMap %s: both runs use the scheduler configuration that is in force",
			add.SourceOf(m), m.Name)
	}
	t.Objects.Merge(add)
	return nil
}

// set changes the settings of queues. It warns about settings that decide nothing.
func (t *Trial) set(settings []string, c *engine.Configuration) error {
	cards := c.Settings().Cards
	for _, setting := range settings {
		if err := Set(t.World, setting); err != nil {
			return err
		}

		missing := MissingCard(t.World, cards.Labels, cards.Attributes, setting)
		if problem := cmp.Or(missing, WithoutEffect(c, setting)); problem != "" {
			t.warn("--set %s: %s", setting, problem)
		}
	}
	return nil
}

func (t *Trial) warn(format string, arguments ...any) {
	t.Warnings = append(t.Warnings, fmt.Sprintf(format, arguments...))
}
