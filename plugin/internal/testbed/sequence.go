package testbed

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// Sequence opens sessions one after the other on a scene that the test changes in
// between. They share one memory, as the sessions of one scheduler do.
type Sequence struct {
	*Scene
	Client  kubernetes.Interface
	Builder *session.Builder
	Last    *Fixture
	Edit    func(*api.ClusterInfo)
}

// NewSequence returns the sessions of one scheduler on a scene.
func NewSequence(t *testing.T, s *Scene) *Sequence {
	t.Helper()
	return &Sequence{Scene: s, Builder: session.BuilderOf(s.Build(nil).Name())}
}

// Open closes the last session and opens the next one.
func (s *Sequence) Open(t *testing.T) *Fixture {
	t.Helper()
	if s.Last != nil {
		s.Last.Close()
	}

	again := *s.Scene
	again.Build = s.Builder.Build
	s.Last = again.Open(t, func(info *api.ClusterInfo, c *offline.Cache) {
		if s.Client != nil {
			c.Kube = s.Client
		}
		if s.Edit != nil {
			s.Edit(info)
		}
	})
	return s.Last
}

// RecordedEvents returns a client, and the events that are created through it.
func RecordedEvents() (kubernetes.Interface, <-chan *v1.Event) {
	client := fake.NewClientset()
	events := make(chan *v1.Event, 100)
	client.PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
		event := action.(clienttesting.CreateAction).GetObject().(*v1.Event)
		events <- event
		return true, event, nil
	})
	return client, events
}
