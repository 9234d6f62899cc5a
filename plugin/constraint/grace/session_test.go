package grace_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// noticed is a scheduler on a node with eight cards that the queue other has borrowed, in which pods have notice, and
// an API server.
type noticed struct {
	*testing.T
	client *fake.Clientset
	clock  time.Time
	build  func(*noticed) *testbed.Fixture
}

func newNoticed(t *testing.T) *noticed {
	n := &noticed{T: t, client: fake.NewClientset(), clock: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)}
	n.restart()
	return n
}

func (n *noticed) restart() {
	b := &session.Builder{Variant: session.BuilderOf(session.Name).Variant, Now: func() time.Time { return n.clock }}
	n.build = func(n *noticed) *testbed.Fixture {
		s := testbed.Lent(nil).Pods("x", "other", "A", 8, 1, testbed.Members(0), testbed.On("a")).Claiming(4)
		for i := range s.Queues {
			if s.Queues[i].Name == "other" {
				s.Queues[i].Annotations[policy.EvictionGraceKey] = "10m"
			}
		}
		s.Jobs[0].Annotations = map[string]string{policy.EvictionGraceKey: "5m"}
		s.Build = b.Build
		return s.Open(n.T, func(info *api.ClusterInfo, cache *offline.Cache) {
			cache.Kube = n.client
			for _, job := range info.Jobs {
				for _, task := range job.Tasks {
					if known, err := n.client.CoreV1().Pods(task.Namespace).Get(context.Background(), task.Name, metav1.GetOptions{}); err == nil {
						task.Pod.Annotations = known.Annotations
					} else if err := n.client.Tracker().Add(task.Pod.DeepCopy()); err != nil {
						require.NoError(n, err)
					}
				}
			}
		})
	}
}

// cycle runs reclaim after some time, waits until annotations are written, and returns how many pods it evicted.
func (n *noticed) cycle(after time.Duration) int {
	n.Helper()
	n.clock = n.clock.Add(after)
	f := n.build(n)
	session.NewReclaim().Execute(f.Session)
	evicted := len(f.Cache.Evicted)
	f.Close()
	f.Own.Memory.Grace.Wait()
	return evicted
}

// annotations returns how many pods have each text of the annotation with the end of their notice.
func (n *noticed) annotations() map[string]int {
	n.Helper()
	pods, err := n.client.CoreV1().Pods("").List(n.Context(), metav1.ListOptions{})
	require.NoError(n, err)
	count := map[string]int{}
	for _, pod := range pods.Items {
		if text := pod.Annotations[policy.EvictionNoticeKey]; text != "" {
			count[text]++
		}
	}
	return count
}

// TestNoticeIsWritten expects the annotation on the victims alone, an event for each, and nothing more in later cycles.
func TestNoticeIsWritten(t *testing.T) {
	n := newNoticed(t)
	require.Zero(t, n.cycle(0))
	assert.Equal(t, map[string]int{"2026-12-01T10:05:00Z": 4}, n.annotations())
	n.client.ClearActions()
	require.Zero(t, n.cycle(4*time.Minute))
	for _, action := range n.client.Actions() {
		assert.False(t, action.Matches("patch", "pods"), "once")
	}
	assert.Equal(t, 4, n.cycle(time.Minute))
}

// TestNoticeSurvivesRestarts restarts the scheduler: the annotation ends the notice, and only an earlier one counts.
func TestNoticeSurvivesRestarts(t *testing.T) {
	n := newNoticed(t)
	require.Zero(t, n.cycle(0))
	n.restart()
	require.Zero(t, n.cycle(4*time.Minute))
	assert.Equal(t, map[string]int{"2026-12-01T10:05:00Z": 4}, n.annotations(), "as before")
	n.restart()
	assert.Equal(t, 4, n.cycle(time.Minute))

	pods, err := n.client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, pod := range pods.Items {
		if pod.Annotations[policy.EvictionNoticeKey] != "" {
			pod.Annotations[policy.EvictionNoticeKey] = "2036-12-01T10:05:00Z"
			_, err := n.client.CoreV1().Pods(pod.Namespace).Update(t.Context(), &pod, metav1.UpdateOptions{})
			require.NoError(t, err)
		}
	}
	n.restart()
	require.Zero(t, n.cycle(time.Hour), "another notice, and the last one")
	assert.Equal(t, map[string]int{"2026-12-01T11:10:00Z": 4}, n.annotations())
	assert.Equal(t, 4, n.cycle(5*time.Minute))
}

// TestNoticeIsWrittenAgain fails the first request for each pod. The notice holds without the annotation, which a later
// cycle writes.
func TestNoticeIsWrittenAgain(t *testing.T) {
	n := newNoticed(t)
	fails := true
	n.client.PrependReactor("patch", "pods", func(kubetesting.Action) (bool, runtime.Object, error) {
		return fails, nil, errors.New("the API server is away")
	})
	require.Zero(t, n.cycle(0))
	assert.Empty(t, n.annotations())
	fails = false
	require.Zero(t, n.cycle(time.Minute))
	assert.Equal(t, map[string]int{"2026-12-01T10:05:00Z": 4}, n.annotations())
	assert.Equal(t, 4, n.cycle(4*time.Minute))
}

// TestWrongGrace has a job and a pod with an annotation that is no duration of 0 or more. Each gets an event if a
// queue grants grace.
func TestWrongGrace(t *testing.T) {
	for _, grants := range []bool{true, false} {
		s := testbed.Lent(nil).Pods("x", "other", "A", 2, 1, testbed.Members(0), testbed.On("a"))
		if grants {
			s.Queues[len(s.Queues)-1].Annotations[policy.EvictionGraceKey] = "10m"
		}
		s.Jobs[0].Annotations = map[string]string{policy.EvictionGraceKey: "soon"}
		s.Jobs[0].Tasks[0].Annotations[policy.EvictionGraceKey] = "-5m"
		events := s.Open(t).Cache.Events()
		const key = "Warning BadPolicyAnnotation annotation volcano.sh/eviction-grace"
		for _, text := range []string{key + `: "soon" is not a duration of 0 or more, such as 10m; it counts as not set`,
			key + ` of pods: "-5m" is not a duration of 0 or more, such as 10m; it counts as not set`} {
			if grants {
				assert.Contains(t, events, text)
			} else {
				assert.NotContains(t, events, text)
			}
		}
	}
}

// TestWrongCheckpoint does the same for times of checkpoints, with victimOrder: leastWork.
func TestWrongCheckpoint(t *testing.T) {
	for _, byWorkToo := range []bool{true, false} {
		s := testbed.Lent(nil).Pods("x", "other", "A", 2, 1, testbed.Members(0), testbed.On("a"))
		if byWorkToo {
			s.Arguments = testbed.ByWork()
		}
		s.Jobs[0].Annotations = map[string]string{policy.CheckpointKey: "1764576000"}
		s.Jobs[0].Tasks[0].Annotations[policy.CheckpointKey] = "2026-12-01T08:30Z"
		events := s.Open(t).Cache.Events()
		const text = `Warning BadPolicyAnnotation annotation volcano.sh/checkpoint-time: "1764576000" is not a time with a zone, such as 2026-12-01T08:30:00Z; it counts as not set`
		if byWorkToo {
			assert.Equal(t, []string{text}, events)
		} else {
			assert.NotContains(t, events, text)
		}
	}
}
