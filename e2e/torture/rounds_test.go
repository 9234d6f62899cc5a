package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
	"github.com/capacity-card/capacity-card/e2e/history"
	"github.com/capacity-card/capacity-card/e2e/history/check"
)

const (
	// patience bounds the time for an expected event.
	patience = 60 * time.Second
	// calm is the number of cycles without a change after which a cluster is at rest.
	calm = 30
	// between is the time between two faults. It is longer than the window in which a decision may miss changes.
	between = check.Lag + 2*time.Second
)

// Options of a round.
type Options struct {
	Seed   uint64
	Plugin string
	// Length is the time in which tenants act and faults are injected.
	Length time.Duration
	// Faults are the names of the faults to draw from; nil is all.
	Faults []string
	// Program is the path of vc-scheduler. Directory is the place of the history. View is the path of cardctl, if its
	// pages take part. Volcano is the path of Volcano's own scheduler, if it takes part.
	Program, Directory, View, Volcano string
	// Webhooks are the webhooks of the control plane, nil if it has none.
	Webhooks *Webhooks
	Log      func(format string, arguments ...any)
}

// Result is the findings of a round.
type Result struct {
	*check.Report
	// History is the path of the history.
	History string
	Acts    int64
	Refused int64
	Records int
	Attacks map[string]int // on the pages, by kind
}

// round is one round.
type round struct {
	Options
	plane      *controlplane.ControlPlane
	world      world
	writer     *history.Writer
	recorder   *history.Recorder
	schedulers *schedulers
	view       *view // nil for none
	faultDraw  *rand.Rand
	relabeled  bool // by a fault

	acts, refused atomic.Int64
}

func (r *round) log(format string, arguments ...any) {
	if r.Log != nil {
		r.Log(format, arguments...)
	}
}

// draws returns the sequence of one actor of a seed.
func draws(seed, actor uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, actor)) }

// Run runs a round on a control plane, which it leaves empty.
func Run(ctx context.Context, plane *controlplane.ControlPlane, options Options) (*Result, error) {
	err := os.MkdirAll(options.Directory, 0o755)
	if err != nil {
		return nil, err
	}

	path := filepath.Join(options.Directory, fmt.Sprintf("history-%d.json.gz", options.Seed))
	w, err := history.Create(path)
	if err != nil {
		return nil, err
	}

	r := &round{
		Options:   options,
		plane:     plane,
		writer:    w,
		faultDraw: draws(options.Seed, 1),
		world:     drawWorld(draws(options.Seed, 0), options.Plugin),
	}
	err = errors.Join(r.record(ctx), r.clear())
	if err != nil {
		return nil, fmt.Errorf("%w (history: %s)", err, path)
	}

	return r.result(path)
}

// result checks the recorded history.
func (r *round) result(path string) (*Result, error) {
	records, err := history.Open(path)
	if err != nil {
		return nil, err
	}

	report, err := check.Run(records)
	if err != nil {
		return nil, err
	}

	result := &Result{
		Report:  report,
		History: path,
		Acts:    r.acts.Load(),
		Refused: r.refused.Load(),
		Records: len(records),
	}
	if r.view != nil {
		result.Attacks = r.view.attacks
	}

	return result, nil
}

// record records the round.
func (r *round) record(ctx context.Context) error {
	client, err := dynamic.NewForConfig(r.plane.RestConfig)
	if err != nil {
		return errors.Join(err, r.writer.Close())
	}

	sources, err := history.Sources(ctx, client)
	if err != nil {
		return errors.Join(err, r.writer.Close())
	}

	r.recorder, err = history.Start(r.writer, sources)
	if err != nil {
		return errors.Join(err, r.writer.Close())
	}

	return errors.Join(r.play(ctx), r.recorder.Stop())
}

// play creates the cluster, lets all actors act, and brings the cluster to rest.
func (r *round) play(ctx context.Context) (err error) {
	r.log("round %d: %s, tree %t, groups %t", r.Seed, r.world.plugin, r.world.tree, r.world.groups != nil)
	err = r.set(ctx)
	if err != nil {
		return fmt.Errorf("setting the cluster up: %w", err)
	}

	directory, err := os.MkdirTemp("", "torture-")
	if err != nil {
		return err
	}

	defer os.RemoveAll(directory)

	r.writer.Mark(check.Configured, "", r.world.stated())
	r.schedulers, err = startSchedulers(r.plane, r.Program, directory, r.world.configuration(), r.writer)
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, r.schedulers.stop()) }()
	_, err = r.schedulers.awaitLeader(patience)
	if err != nil {
		return err
	}

	if r.View != "" {
		r.view, err = startView(ctx, r.plane, r.View, r.schedulers.file)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.view.stop()) }()
	}

	err = r.act(ctx)
	if err != nil {
		return err
	}

	err = r.rest(ctx)
	if err != nil || r.view == nil {
		return err
	}

	if r.world.plugin == "capacity-card" { // only this plugin counts cards
		err = r.agrees(ctx, r.view)
	}

	return errors.Join(err, r.view.bounded())
}

// configure writes the configuration of a world.
func (r *round) configure(w world) error {
	r.writer.Mark(check.Configured, "", w.stated())
	return r.schedulers.write(w.configuration())
}

// act runs tenants, admins, attacks on the pages, and faults, for the length of the round.
func (r *round) act(ctx context.Context) error {
	acting, cancel := context.WithTimeout(ctx, r.Length)
	defer cancel()

	var others errgroup.Group
	others.Go(func() error {
		r.tenants(acting, draws(r.Seed, 2))
		return nil
	})
	others.Go(func() error { return r.admins(acting, draws(r.Seed, 3)) })
	if r.view != nil {
		others.Go(func() error { return r.view.attacked(acting, draws(r.Seed, 6)) })
	}

	err := r.fail(acting)
	cancel()

	return errors.Join(err, others.Wait())
}

// fail injects one fault after the other.
func (r *round) fail(ctx context.Context) error {
	chosen := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return !r.chooses(f) })
	for len(chosen) > 0 {
		pause(ctx, between)
		if ctx.Err() != nil {
			return nil
		}

		err := r.inject(ctx, chosen[r.faultDraw.IntN(len(chosen))])
		if err != nil {
			return err
		}
	}
	<-ctx.Done()

	return nil
}

// chooses reports whether the options of the round ask for a fault and have its needs.
func (r *round) chooses(f fault) bool {
	wanted := r.Faults == nil && !f.rare || slices.Contains(r.Faults, f.name)
	return wanted && (f.can == nil || f.can(&r.Options))
}
