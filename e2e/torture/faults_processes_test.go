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

	err = leader.current().Kill()
	if err != nil {
		return err
	}

	_, err = r.schedulers.awaitLeader(patience)

	return err
}

func (r *round) killBoth(context.Context) error {
	for _, each := range r.schedulers.replicas {
		err := each.current().Kill()
		if err != nil {
			return err
		}
	}

	_, err := r.schedulers.awaitLeader(patience)
	return err
}

// pauseLeader stops the leader for longer than its lease. Then the leader continues until it notices that it lost the
// lease.
func (r *round) pauseLeader(ctx context.Context) error {
	leader, err := r.schedulers.awaitLeader(patience)
	if err != nil {
		return err
	}

	process := leader.current()
	err = process.Pause()
	if err != nil {
		return err
	}

	pause(ctx, lease+2*time.Second)

	r.writer.Mark(check.Fenced, leader.name, "")
	defer r.writer.Mark(check.FenceEnds, leader.name, "")
	err = process.Continue()
	if err != nil {
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

// cutLeader disconnects the leader from the API server until it gives up.
func (r *round) cutLeader(ctx context.Context) error {
	leader, err := r.schedulers.awaitLeader(patience)
	if err != nil {
		return err
	}

	process := leader.current()
	leader.proxy.setCut(true)
	select {
	case <-process.Exited():
	case <-time.After(patience):
		err = fmt.Errorf("%s cannot renew its lease, and goes on", leader.name)
	}
	leader.proxy.setCut(false)
	if err != nil {
		return err
	}

	_, err = r.schedulers.awaitLeader(patience)
	return err
}

// cutWatches ends all connections of the schedulers several times.
func (r *round) cutWatches(ctx context.Context) error {
	for range 5 {
		r.each(func(p *proxy) {
			p.setCut(true)
			p.setCut(false)
		})
		pause(ctx, 300*time.Millisecond)
	}

	return nil
}

func (r *round) each(do func(*proxy)) {
	for _, each := range r.schedulers.replicas {
		do(each.proxy)
	}
}

// interfere makes the proxies interfere with requests for a while.
func (r *round) interfere(ctx context.Context, with func(*http.Request) interference) error {
	r.each(func(p *proxy) { p.interfere(with) })
	pause(ctx, 3*time.Second)
	r.each(func(p *proxy) { p.interfere(nil) })

	_, err := r.schedulers.awaitLeader(patience)
	return err
}

func (r *round) slow(ctx context.Context) error {
	return r.interfere(ctx, func(*http.Request) interference {
		return interference{delay: time.Duration(rand.IntN(800)) * time.Millisecond}
	})
}

// answerErrors makes three in ten requests fail: too many requests, an error, or a conflict if the request writes.
func (r *round) answerErrors(ctx context.Context) error {
	return r.interfere(ctx, func(request *http.Request) interference {
		statuses := []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}
		if writes(request) {
			statuses = append(statuses, http.StatusConflict)
		}

		if rand.IntN(10) >= 3 {
			return interference{}
		}

		return interference{status: statuses[rand.IntN(len(statuses))]}
	})
}

// loseAnswers makes the API server serve requests of the scheduler without an answer.
func (r *round) loseAnswers(ctx context.Context) error {
	return r.interfere(ctx, func(request *http.Request) interference {
		candidate := writes(request) && !strings.Contains(request.URL.Path, "/leases/")
		return interference{lost: candidate && rand.IntN(10) < 3}
	})
}

func writes(request *http.Request) bool { return request.Method != http.MethodGet }

func (r *round) restartAPIServer(context.Context) error {
	err := r.plane.RestartAPIServer()
	if err != nil {
		return err
	}

	_, err = r.schedulers.awaitLeader(patience)

	return err
}

// reload schedules with another plugin for a while.
func (r *round) reload(ctx context.Context) error {
	other := r.world
	other.plugin = "capacity"
	err := r.configure(other)
	if err != nil {
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
	err := r.replace(r.Volcano, other)
	if err != nil {
		return err
	}

	pause(ctx, 4*time.Second)

	return r.replace(r.Program, r.world)
}

// replace replaces both schedulers by another program with another configuration.
func (r *round) replace(program string, w world) error {
	r.schedulers.runs(program)
	err := r.configure(w)
	if err != nil {
		return err
	}

	return r.killBoth(context.Background())
}

// fillDisk makes etcd refuse writes for a while.
func (r *round) fillDisk(ctx context.Context) error {
	err := r.plane.FillDisk(context.Background())
	if err != nil {
		return err
	}

	pause(ctx, 3*time.Second)

	err = r.plane.FreeDisk(context.Background())
	if err != nil {
		return err
	}

	_, err = r.schedulers.awaitLeader(patience)

	return err
}

// Webhooks are Volcano's webhooks: the program, and its process.
type Webhooks struct {
	Program string
	Process *controlplane.Process
}

// loseWebhooks stops Volcano's webhooks for a while. Then nobody can create a job or a pod.
func (r *round) loseWebhooks(ctx context.Context) error {
	err := r.Webhooks.Process.Kill()
	if err != nil {
		return err
	}

	pause(ctx, 3*time.Second)
	r.Webhooks.Process, err = r.plane.StartWebhooks(context.Background(), r.Webhooks.Program)

	return err
}
