package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
)

// Viewer decides which objects a request may see.
type Viewer interface {
	// Name is the name of the user, "" for everyone.
	Name() string
	// Queues reports whether the viewer may see queues and cards.
	Queues(ctx context.Context) bool
	// Nodes reports whether the viewer may see nodes by name.
	Nodes(ctx context.Context) bool
	// Namespace reports whether the viewer may see the jobs of a namespace by name. "" stands for
	// all namespaces.
	Namespace(ctx context.Context, name string) bool
}

// anonymous sees everything or nothing.
type anonymous bool

// The viewers without a name.
const (
	everyone anonymous = true
	nobody   anonymous = false
)

func (anonymous) Name() string                             { return "" }
func (a anonymous) Queues(context.Context) bool            { return bool(a) }
func (a anonymous) Nodes(context.Context) bool             { return bool(a) }
func (a anonymous) Namespace(context.Context, string) bool { return bool(a) }

type viewerKey struct{}

// WithViewer puts the viewer of a request into its context.
func WithViewer(ctx context.Context, v Viewer) context.Context {
	return context.WithValue(ctx, viewerKey{}, v)
}

// ViewerOf returns the viewer of a context, nobody if there is none.
func ViewerOf(ctx context.Context) Viewer {
	if v, ok := ctx.Value(viewerKey{}).(Viewer); ok {
		return v
	}
	return nobody
}

// showAll is the access without authentication.
func showAll(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(WithViewer(r.Context(), everyone)))
	})
}

// seen filters the objects that one request may see. It asks the viewer once for each namespace.
type seen struct {
	ctx        context.Context
	viewer     Viewer
	namespaces map[string]bool
}

func newSeen(ctx context.Context) *seen {
	return &seen{ctx: ctx, viewer: ViewerOf(ctx), namespaces: map[string]bool{}}
}

func (s *seen) namespace(name string) bool {
	may, known := s.namespaces[name]
	if !known {
		may = s.viewer.Namespace(s.ctx, name)
		s.namespaces[name] = may
	}
	return may
}

// everything reports whether the viewer may see all queues, nodes and jobs.
func (s *seen) everything() bool {
	return s.viewer.Queues(s.ctx) && s.viewer.Nodes(s.ctx) && s.namespace(metav1.NamespaceAll)
}

// rights are the rights of the viewer in a simulation.
type rights struct{ *seen }

func (r rights) Namespace(name string) bool { return r.namespace(name) }
func (r rights) Nodes() bool                { return r.viewer.Nodes(r.ctx) }

// Hidden counts the jobs and pods that a viewer may not see by name.
type Hidden struct {
	Jobs int `json:"jobs"`
	Pods int `json:"pods"`
}

// with counts one more job with its pods. A nil Hidden counts nothing so far.
func (h *Hidden) with(pods int) *Hidden {
	if h == nil {
		return &Hidden{Jobs: 1, Pods: pods}
	}
	return &Hidden{Jobs: h.Jobs + 1, Pods: h.Pods + pods}
}

// changed returns a copy of a list in which each entry is changed.
func changed[T any](all []T, change func(*T)) []T {
	visible := slices.Clone(all)
	for i := range visible {
		change(&visible[i])
	}
	return visible
}

// jobs returns the jobs that may be seen, without the names of hidden jobs in them.
func (s *seen) jobs(all []explain.Finding) []explain.Finding {
	visible := []explain.Finding{}
	for i := range all {
		if s.namespace(all[i].Namespace) {
			visible = append(visible, s.job(all[i]))
		}
	}
	return visible
}

// job returns a finding without the names of jobs that may not be seen.
func (s *seen) job(f explain.Finding) explain.Finding {
	f.Holders = changed(f.Holders, func(h *explain.Holders) {
		before := len(h.Jobs)
		h.Jobs = slices.DeleteFunc(slices.Clone(h.Jobs), func(j explain.Holder) bool {
			return !s.namespace(j.Namespace)
		})
		h.More += before - len(h.Jobs)
	})

	f.Reclaimers = slices.DeleteFunc(slices.Clone(f.Reclaimers), func(c explain.Evictions) bool {
		return !s.owner(c.Owner)
	})

	f.Message = s.first(f.Message)
	if f.Reason != nil {
		reason := *f.Reason
		reason.Detail = s.first(reason.Detail)
		f.Reason = &reason
	}
	f.Untaken = s.first(f.Untaken)
	f.Advice = changed(f.Advice, func(line *string) { *line = s.first(*line) })
	f.Wanted = slices.DeleteFunc(slices.Clone(f.Wanted), func(w explain.Wanted) bool { return !s.owner(w.Owner) })
	f.Evicts = s.evicts(f.Advice, f.Evicts)
	f.Claim = s.claim(f.Advice, f.Claim)
	f.Borrowers = hideQueues(s, f.Advice, f.Borrowers, func(p *explain.Part) *string { return &p.Queue })
	f.Unused = hideQueues(s, f.Advice, f.Unused, func(p *explain.Unused) *string { return &p.Queue })
	if f.Leaves != nil && !s.viewer.Queues(s.ctx) {
		if at := slices.Index(f.Advice, explain.LeafAdvice(f.Leaves)); at >= 0 {
			f.Advice[at] = explain.LeafAdvice(nil)
		}
		f.Leaves = nil
	}

	f.Behind = s.behind(f.Behind)
	f.Nodes = changed(f.Nodes, func(n *explain.Nodes) { n.Names = s.nodes(n.Names) })
	return f
}

// goesFirst matches the job that goes first in the text of a reason, and its queue.
var goesFirst = regexp.MustCompile(`job (<[^/>]+/[^>]+>)(?: of queue <([^>]+)>)?`)

// first hides the names of another job that goes first, and of its queue, in the text of a reason.
func (s *seen) first(text string) string {
	for _, found := range goesFirst.FindAllStringSubmatch(text, -1) {
		if !s.owner(found[1][1:]) {
			text = strings.ReplaceAll(text, found[1], "<"+hiddenName+">")
		}
		text = strings.ReplaceAll(text, "of queue <"+found[2]+">", "of queue <"+s.otherQueue(found[2])+">")
	}
	return text
}

// owner reports whether an owner with its namespace may be seen.
func (s *seen) owner(name string) bool {
	namespace, _, _ := strings.Cut(name, "/")
	return s.namespace(namespace)
}

// evicts hides the names of other jobs in the evictions for a job, and in the advice about them.
func (s *seen) evicts(advice []string, all []explain.Evictions) []explain.Evictions {
	return hideQueues(s, advice, all, func(v *explain.Evictions) *string {
		if !s.owner(v.Owner) {
			v.Owner = hiddenName
			v.Pods = slices.Repeat([]string{hiddenName}, len(v.Pods))
		}
		return &v.Queue
	})
}

// claim hides the names of other jobs and queues in the claim of a job, and in the advice about them.
func (s *seen) claim(advice []string, c *explain.Claim) *explain.Claim {
	if c == nil {
		return nil
	}

	visible := *c
	if c.Refused != nil {
		refused := *c.Refused
		refused.Detail = s.first(refused.Detail)
		visible.Refused = &refused
	}
	visible.Spared = hideQueues(s, advice, c.Spared, func(p *explain.Spared) *string {
		if !s.owner(p.Owner) {
			p.Owner = hiddenName
		}
		return &p.Queue
	})
	return &visible
}

// behind hides the names of the queues that go first.
func (s *seen) behind(all []explain.Behind) []explain.Behind {
	return changed(all, func(b *explain.Behind) {
		b.First = slices.Compact(changed(b.First, func(a *explain.Ahead) { a.Queue = s.otherQueue(a.Queue) }))
	})
}

// hideQueues hides the names of other queues in parts of a finding, and in the advice about them.
func hideQueues[T fmt.Stringer](s *seen, advice []string, parts []T, queue func(*T) *string) []T {
	return changed(parts, func(part *T) {
		at := slices.Index(advice, (*part).String())
		name := queue(part)
		*name = s.otherQueue(*name)
		if at >= 0 {
			advice[at] = (*part).String()
		}
	})
}

// otherQueue returns the name of a queue that is not on the path of a visible job, or hides it from
// viewers who may not list queues.
func (s *seen) otherQueue(name string) string {
	if s.viewer.Queues(s.ctx) {
		return name
	}
	return hiddenName
}

// holds returns the policies that keep jobs back, and hides the names of other queues from viewers
// who may not list queues.
func (s *seen) holds(all []model.Hold) []model.Hold {
	return changed(all, func(h *model.Hold) {
		if h.Pods > 0 && h.Policy != nil {
			policy := *h.Policy
			policy.Queue = s.otherQueue(policy.Queue)
			h.Policy = &policy
		}
	})
}

// causes returns the causes that may be seen. Each names a queue. Viewers who may not see queues
// see only causes with a job that they may see.
func (s *seen) causes(all []*model.Cause) []*model.Cause {
	if s.viewer.Queues(s.ctx) {
		return all
	}
	return slices.DeleteFunc(all, func(c *model.Cause) bool {
		return !slices.ContainsFunc(c.Jobs, func(f *explain.Finding) bool { return s.namespace(f.Namespace) })
	})
}

// These texts describe a reading to viewers who may not list queues. The real causes name the API server, and
// objects of the cluster.
var (
	errReading  = errors.New("the cluster cannot be read")
	lackReading = model.Note{Severity: "warning", Text: "Parts of the cluster cannot be read."}
)

// failure returns why the last reading failed, nil if it did not.
func (s *seen) failure(err error) error {
	if err == nil || s.viewer.Queues(s.ctx) {
		return err
	}
	return errReading
}

// lack returns why something is not known, "" if it is known.
func (s *seen) lack(text string) string {
	if text == "" || s.viewer.Queues(s.ctx) {
		return text
	}
	return lackReading.Text
}

// notes returns the problems of a reading.
func (s *seen) notes(all []model.Note) []model.Note {
	if s.viewer.Queues(s.ctx) || len(all) == 0 {
		return all
	}
	return []model.Note{lackReading}
}

// hiddenName stands for names that may not be seen.
const hiddenName = "•••"

// namespaceName returns the name of a namespace, if its jobs may be seen.
func (s *seen) namespaceName(name string) string {
	if s.namespace(name) {
		return name
	}
	return hiddenName
}

// hide hides the names of a job, unless the jobs of its namespace may be seen.
func (s *seen) hide(namespace string, names ...*string) {
	if s.namespace(namespace) {
		return
	}
	for _, name := range names {
		*name = hiddenName
	}
}

// evictions returns evictions without the names of jobs that may not be seen.
func (s *seen) evictions(all []engine.Eviction) []engine.Eviction {
	return changed(all, func(e *engine.Eviction) {
		s.hide(e.Namespace, &e.Namespace, &e.Owner, &e.Pod)
		e.Node = s.node(e.Node)
		e.For = s.takers(e.For)
	})
}

// evicted returns past evictions without such names.
func (s *seen) evicted(all []model.Evicted) []model.Evicted {
	return changed(all, func(e *model.Evicted) {
		s.hide(e.Namespace, &e.Namespace, &e.Owner, &e.Pod, &e.PodGroup)
		e.Node = s.node(e.Node)
		e.For = s.takers(e.For)
	})
}

func (s *seen) takers(all []engine.Taker) []engine.Taker {
	return changed(all, func(t *engine.Taker) {
		s.hide(t.Namespace, &t.Namespace, &t.Owner)
	})
}
