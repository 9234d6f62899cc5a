package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
	"github.com/capacity-card/capacity-card/e2e/history/check"
)

func (r *round) killLeader(context.Context) error {
	leader, err := r.schedulers.awaitLeader(patience)
	if err != nil {
		return err
	}
	if err := leader.current().Kill(); err != nil {
		return err
	}
	_, err = r.schedulers.awaitLeader(patience)
	return err
}

func (r *round) killBoth(context.Context) error {
	for _, each := range r.schedulers.replicas {
		if err := each.current().Kill(); err != nil {
			return err
		}
	}
	_, err := r.schedulers.awaitLeader(patience)
	return err
}

// pauseLeader stops the leader for longer than its lease. It goes on where it was, until it notices.
func (r *round) pauseLeader(ctx context.Context) error {
	leader, err := r.schedulers.awaitLeader(patience)
	if err != nil {
		return err
	}
	process := leader.current()
	if err := process.Pause(); err != nil {
		return err
	}
	pause(ctx, lease+2*time.Second)
	r.writer.Mark(check.Fenced, leader.name, "")
	defer r.writer.Mark(check.FenceEnds, leader.name, "")
	if err := process.Continue(); err != nil {
		return err
	}
	select {
	case <-process.Exited():
	case <-time.After(patience):
		return fmt.Errorf("%s lost its lease, and goes on", leader.name)
	}
	_, err = r.schedulers.awaitLeader(patience)
	return err
}

// cutLeader takes the API server away from the leader, so long that it gives up.
func (r *round) cutLeader(ctx context.Context) error {
	leader, err := r.schedulers.awaitLeader(patience)
	if err != nil {
		return err
	}
	process := leader.current()
	leader.proxy.Cut()
	select {
	case <-process.Exited():
	case <-time.After(patience):
		err = fmt.Errorf("%s cannot renew its lease, and goes on", leader.name)
	}
	leader.proxy.Mend()
	if err != nil {
		return err
	}
	_, err = r.schedulers.awaitLeader(patience)
	return err
}

// cutWatches ends all connections of the schedulers, some times.
func (r *round) cutWatches(ctx context.Context) error {
	for range 5 {
		r.each(func(p *controlplane.Proxy) {
			p.Cut()
			p.Mend()
		})
		pause(ctx, 300*time.Millisecond)
	}
	return nil
}

func (r *round) each(do func(*controlplane.Proxy)) {
	for _, each := range r.schedulers.replicas {
		do(each.proxy)
	}
}

// interfere has the proxies interfere for some time.
func (r *round) interfere(ctx context.Context, with func(*http.Request) controlplane.Interference) error {
	r.each(func(p *controlplane.Proxy) { p.Interfere(with) })
	pause(ctx, 3*time.Second)
	r.each(func(p *controlplane.Proxy) { p.Interfere(nil) })
	_, err := r.schedulers.awaitLeader(patience)
	return err
}

func (r *round) slow(ctx context.Context) error {
	return r.interfere(ctx, func(*http.Request) controlplane.Interference {
		return controlplane.Interference{Delay: time.Duration(rand.IntN(800)) * time.Millisecond}
	})
}

// answerErrors has three in ten requests fail: too many, an error, or a conflict where something is written.
func (r *round) answerErrors(ctx context.Context) error {
	return r.interfere(ctx, func(request *http.Request) controlplane.Interference {
		statuses := []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}
		if writes(request) {
			statuses = append(statuses, http.StatusConflict)
		}
		if rand.IntN(10) >= 3 {
			return controlplane.Interference{}
		}
		return controlplane.Interference{Status: statuses[rand.IntN(len(statuses))]}
	})
}

// loseAnswers has the API server do what is asked, and the scheduler not learn of it.
func (r *round) loseAnswers(ctx context.Context) error {
	return r.interfere(ctx, func(request *http.Request) controlplane.Interference {
		return controlplane.Interference{Lost: writes(request) && !strings.Contains(request.URL.Path, "/leases/") && rand.IntN(10) < 3}
	})
}

func writes(request *http.Request) bool { return request.Method != http.MethodGet }

func (r *round) restartAPIServer(context.Context) error {
	if err := r.plane.RestartAPIServer(); err != nil {
		return err
	}
	_, err := r.schedulers.awaitLeader(patience)
	return err
}

// reload schedules with another plugin for a while.
func (r *round) reload(ctx context.Context) error {
	other := r.world
	other.plugin = "capacity"
	if err := r.configure(other); err != nil {
		return err
	}
	pause(ctx, 4*time.Second)
	return r.configure(r.world)
}

// rollBack schedules with Volcano's own scheduler for a while.
func (r *round) rollBack(ctx context.Context) error {
	other := r.world
	other.plugin = "capacity"
	r.writer.Mark(check.Replaced, "", "")
	defer r.writer.Mark(check.ReplacedEnds, "", "")
	if err := r.replace(r.Volcano, other); err != nil {
		return err
	}
	pause(ctx, 4*time.Second)
	return r.replace(r.Program, r.world)
}

// replace ends both schedulers, and starts those of a program and a configuration in their place.
func (r *round) replace(program string, w world) error {
	r.schedulers.runs(program)
	if err := r.configure(w); err != nil {
		return err
	}
	return r.killBoth(context.Background())
}

// fillDisk has etcd store nothing for a while.
func (r *round) fillDisk(ctx context.Context) error {
	if err := r.plane.FillDisk(context.Background()); err != nil {
		return err
	}
	pause(ctx, 3*time.Second)
	if err := r.plane.FreeDisk(context.Background()); err != nil {
		return err
	}
	_, err := r.schedulers.awaitLeader(patience)
	return err
}

// Webhooks are Volcano's: a program and the process that runs it.
type Webhooks struct {
	Program string
	Process *controlplane.Process
}

// loseWebhooks takes Volcano's webhooks away for a while: nobody can create a job or a pod.
func (r *round) loseWebhooks(ctx context.Context) (err error) {
	if err := r.Webhooks.Process.Kill(); err != nil {
		return err
	}
	pause(ctx, 3*time.Second)
	r.Webhooks.Process, err = r.plane.StartWebhooks(context.Background(), r.Webhooks.Program)
	return err
}
