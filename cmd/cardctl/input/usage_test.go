package input

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/capacity-card/capacity-card/plugin/store"
)

var usageName = types.NamespacedName{Namespace: "volcano-system", Name: "capacity-card-usage"}

// TestUsageOfLiveCluster reads usage, and keeps the last reading while the API server does not answer.
func TestUsageOfLiveCluster(t *testing.T) {
	o, err := ReadFiles([]string{"../../../examples/fairness"}, false, nil, nil)
	require.NoError(t, err)
	require.Len(t, o.Usage, 1)
	assert.Empty(t, o.Skipped())
	var failure error
	kube := fake.NewClientset(o.Usage[0])
	kube.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { return failure != nil, nil, failure })
	l := &Live{kube: kube, host: "host"}

	stored, err := l.Usage(t.Context(), usageName)
	require.NoError(t, err)
	assert.Equal(t, 24*time.Hour, stored.HalfLife)
	assert.True(t, stored.Now.IsZero(), "the clock of the session")
	failure = errors.New("connection refused")
	kept, err := l.Usage(t.Context(), usageName)
	require.NoError(t, err)
	assert.Same(t, stored, kept)
	failure = apierrors.NewForbidden(v1.Resource("configmaps"), usageName.Name, nil)
	_, err = l.Usage(t.Context(), usageName)
	assert.EqualError(t, err, "no permission to get it in host")
	failure = errors.New("connection refused")
	_, err = l.Usage(t.Context(), usageName)
	assert.ErrorIs(t, err, errAway, "what may not be read any more is forgotten")
	failure = nil
	_, err = l.Usage(t.Context(), types.NamespacedName{Namespace: "volcano-system", Name: "other"})
	assert.ErrorIs(t, err, ErrNoUsage)
}

// TestTimeOfDump has the latest time of a dump that is not in the future.
func TestTimeOfDump(t *testing.T) {
	o, err := ReadFiles([]string{"../../../examples/fairness"}, false, nil, nil)
	require.NoError(t, err)
	stored, err := o.UsageIn(usageName)
	require.NoError(t, err)
	assert.Equal(t, stored.Saved, stored.Now)
	later := stored.Saved.Add(5 * time.Minute)
	o.Nodes[0].Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(later)
	o.Nodes[1].Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(time.Now().Add(time.Hour))
	stored, err = o.UsageIn(usageName)
	require.NoError(t, err)
	if later.Before(time.Now()) {
		assert.Equal(t, later, stored.Now)
	}
	_, err = o.UsageIn(types.NamespacedName{Namespace: "default", Name: "capacity-card-usage"})
	assert.ErrorIs(t, err, ErrNoUsage)
}

// TestConfigMapChangesRole reads a ConfigMap as usage, then as a configuration, and as usage again. The last one counts.
func TestConfigMapChangesRole(t *testing.T) {
	usage := &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"},
		Data:       map[string]string{"halfLife": "24h", "parts": "1"},
		BinaryData: map[string][]byte{"usage": {}},
	}
	configuration := &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"},
		Data:       map[string]string{"volcano-scheduler.conf": "actions: allocate\ntiers:\n- plugins:\n  - name: capacity\n"},
	}
	require.True(t, store.IsStored(usage))
	require.True(t, mayConfigure(configuration))

	o := New()
	for _, x := range []*v1.ConfigMap{usage, configuration, usage.DeepCopy()} {
		o.add(x, Source{})
		assert.Equal(t, 1, len(o.Usage)+len(o.ConfigMaps))
	}
	assert.Len(t, o.Usage, 1)
	assert.Len(t, o.Repeated, 2)
}
