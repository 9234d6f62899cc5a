package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/capacity-card/capacity-card/quota/usage"
)

// part returns a ConfigMap by its name, as Read asks for it.
func (s *scheduler) part(t *testing.T) func(string) (*v1.ConfigMap, error) {
	return func(name string) (*v1.ConfigMap, error) {
		return s.client.CoreV1().ConfigMaps("ns").Get(t.Context(), name, metav1.GetOptions{})
	}
}

// TestAnotherWriterIsTakenOver has a program that changes the usage while a scheduler runs. The next save of the
// scheduler does not overwrite the change.
func TestAnotherWriterIsTakenOver(t *testing.T) {
	s := of(fake.NewClientset(), 1000, 8000)
	s.idle = true // an idle scheduler looks as well
	s.session(start, ofDay)
	stored, err := Read(s.configMap(t, "usage"), s.part(t))
	require.NoError(t, err)
	require.NoError(t, stored.Fits(&ofDay))
	assert.Equal(t, start, stored.Saved)
	assert.InDelta(t, 8000, stored.Record.Queues["q1"].Usage[0], 1e-9)

	stored.Record.Queues["q1"] = usage.QueueRecord{Usage: []float64{500}}
	stored.Saved = start.Add(20 * time.Second)
	all, err := Write(ofDay.Store, stored, "cardctl")
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.True(t, IsStored(all[0]))
	_, err = s.client.CoreV1().ConfigMaps("ns").Update(t.Context(), all[0], metav1.UpdateOptions{})
	require.NoError(t, err)

	assert.Nil(t, s.session(start.Add(time.Minute), ofDay), "the save finds it")
	found := s.session(start.Add(61*time.Second), ofDay)
	require.NotNil(t, found)
	assert.Equal(t, []float64{500}, found.History.Record().Queues["q1"].Usage)
	assert.Equal(t, stored.Saved, found.Saved)
	assert.Equal(t, "cardctl", s.configMap(t, "usage").Data[writerKey])
	s.history = found.History // as restore does
	s.session(start.Add(2*time.Minute), ofDay)
	assert.NotEqual(t, "cardctl", s.configMap(t, "usage").Data[writerKey], "the scheduler saves again")
	assert.Empty(t, s.warnings)
}

func TestReadRefuses(t *testing.T) {
	s := of(fake.NewClientset(), 1)
	s.session(start, ofDay)
	good := s.configMap(t, "usage")
	for name, test := range map[string]struct {
		key, value, want string
	}{
		"a later release":    {versionKey, "2", `it is of another release: version "2"`},
		"no time":            {savedKey, "now", `parsing time "now"`},
		"no half-life":       {halfLifeKey, "day", `time: invalid duration "day"`},
		"a part that is not": {partsKey, "2", `configmaps "usage-a1" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			c := good.DeepCopy()
			c.Data[test.key] = test.value
			_, err := Read(c, s.part(t))
			assert.ErrorContains(t, err, test.want)
		})
	}
	torn := good.DeepCopy()
	torn.Name, torn.Data[saveKey] = "usage-a1", "another"
	_, err := s.client.CoreV1().ConfigMaps("ns").Create(t.Context(), torn, metav1.CreateOptions{})
	require.NoError(t, err)
	first := good.DeepCopy()
	first.Data[partsKey] = "2"
	_, err = Read(first, s.part(t))
	assert.ErrorContains(t, err, "usage-a1 is of another save")

	stored, err := Read(good, s.part(t))
	require.NoError(t, err)
	other := ofDay
	other.HalfLife = time.Hour
	assert.ErrorContains(t, stored.Fits(&other), "it has the half-life 24h0m0s, and the configuration 1h0m0s")
	assert.False(t, IsStored(&v1.ConfigMap{Data: map[string]string{"volcano-scheduler.conf": "tiers: []"}}))
}
