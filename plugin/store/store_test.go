package store

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
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

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/quota/usage"
)

var (
	ofDay = arguments.FairShare{HalfLife: 24 * time.Hour, Store: types.NamespacedName{Namespace: "ns", Name: "usage"}, Save: time.Minute}
	start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	h200  = []usage.Column{{Name: "H200", Card: true}}
)

// scheduler is the part of a scheduler that stores.
type scheduler struct {
	Store
	history  *usage.History
	client   *fake.Clientset
	warnings []string
	idle     bool // nobody uses anything
	sessions int
}

// of returns a scheduler with one queue for each number of cards.
func of(client *fake.Clientset, queues ...float64) *scheduler {
	s := &scheduler{client: client}
	var nodes []index.Node
	for i := range queues {
		nodes = append(nodes, index.Node{Name: fmt.Sprint("q", i)})
	}
	s.history = &usage.History{}
	s.history.Bind(index.BuildTree(nodes, ""), h200)
	for q, held := range queues {
		s.history.Set(index.Queue(q), 0, held)
	}
	s.history.Begin()
	return s
}

// session uses the store as a session does, and waits for it. Unless the scheduler is idle, a queue uses cards in the
// session. session returns the state that was loaded.
func (s *scheduler) session(now time.Time, with arguments.FairShare) *State {
	if s.sessions++; !s.idle {
		s.history.Set(0, 0, float64(s.sessions))
	}
	s.history.Advance(0.999)
	s.Open(s.client, &with)
	s.Wait()
	found, _ := s.Loaded()
	if s.Tick(now, with.Save); s.Due() {
		s.Offer(now, func() Record { return Record{Record: s.history.Record()} })
	}
	s.Wait()
	for _, problem := range s.Problems() {
		if !slices.Contains(s.warnings, problem) { // a session logs each once
			s.warnings = append(s.warnings, problem)
		}
	}
	return found
}

func (s *scheduler) configMap(t *testing.T, name string) *v1.ConfigMap {
	t.Helper()
	c, err := s.client.CoreV1().ConfigMaps("ns").Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return c
}

func (s *scheduler) saves() (n int) {
	for _, action := range s.client.Actions() {
		if verb := action.GetVerb(); verb == "create" || verb == "update" {
			n++
		}
	}
	return n
}

func TestSavesOnceAMinute(t *testing.T) {
	s := of(fake.NewClientset(), 1000, 8000)
	for second := range 150 {
		s.session(start.Add(time.Duration(second)*time.Second), ofDay)
	}
	assert.Equal(t, 3, s.saves(), "at once, and after one and two minutes")
	assert.Empty(t, s.warnings)
	c := s.configMap(t, "usage")
	assert.Equal(t, "24h0m0s", c.Data[halfLifeKey])
	assert.Equal(t, "2026-11-23T12:02:00Z", c.Data[savedKey])

	found := of(s.client, 0).session(start, ofDay)
	require.NotNil(t, found)
	assert.Equal(t, start.Add(2*time.Minute), found.Saved)
}

func TestSavesNothingThatIsUnchanged(t *testing.T) {
	s := of(fake.NewClientset(), 0, 0)
	s.idle = true
	for minute := range 10 {
		s.session(start.Add(time.Duration(minute)*time.Minute), ofDay)
	}
	assert.Equal(t, 1, s.saves(), "nobody has anything")
	assert.Equal(t, start.Add(9*time.Minute), s.Saved(), "the ConfigMap is not out of date")
}

func TestLargeHistoriesHaveParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	held := make([]float64, 60000)
	for q := range held {
		held[q] = r.Float64()
	}
	s := of(fake.NewClientset(), held...)
	s.session(start, ofDay)
	assert.Equal(t, "2", s.configMap(t, "usage").Data[partsKey])
	for _, name := range []string{"usage", "usage-a1"} {
		assert.LessOrEqual(t, s.configMap(t, name).Size(), partSize+1024)
	}
	found := of(s.client, 0).session(start, ofDay)
	require.NotNil(t, found)
	assert.Equal(t, s.history.Record(), found.History.Record())

	s.history.Bind(index.BuildTree([]index.Node{{Name: "q0"}}, ""), h200)
	s.history.Advance(1e-9)
	s.session(start.Add(time.Minute), ofDay)
	s.configMap(t, "usage")
	all, err := s.client.CoreV1().ConfigMaps("ns").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, all.Items, 1, "the parts that are not needed any more are deleted")
}

// TestInterruptedSaves has a scheduler that ends after it has written some of the ConfigMaps of a save. The next one
// reads the save before.
func TestInterruptedSaves(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	held := make([]float64, 60000)
	for q := range held {
		held[q] = r.Float64()
	}
	for _, last := range []string{"usage-b1", "usage"} {
		client := fake.NewClientset()
		s := of(client, held...)
		s.session(start, ofDay)
		client.PrependReactor("*", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
			write, writes := a.(clienttesting.CreateAction) // as an update is
			if !writes || write.GetObject().(metav1.Object).GetName() != last {
				return false, nil, nil
			}
			return true, nil, apierrors.NewTimeoutError("the scheduler is gone", 0)
		})
		s.session(start.Add(time.Minute), ofDay)
		require.Len(t, s.warnings, 1)
		client.ReactionChain = client.ReactionChain[1:]

		next := of(client, 0)
		found := next.session(start.Add(2*time.Minute), ofDay)
		require.NotNil(t, found, "%v", next.warnings)
		assert.Equal(t, start, found.Saved)
	}
}

// TestTheNewerSaveWins has two schedulers with one store. A leader that was suspended does not overwrite the save of
// the next leader.
func TestTheNewerSaveWins(t *testing.T) {
	client := fake.NewClientset()
	first, second := of(client, 1000), of(client, 5000)
	first.session(start, ofDay)
	require.NotNil(t, second.session(start.Add(time.Minute), ofDay))
	second.session(start.Add(3*time.Minute), ofDay)
	before := first.configMap(t, "usage").Data
	assert.Nil(t, first.session(start.Add(4*time.Minute), ofDay))
	assert.Equal(t, before, first.configMap(t, "usage").Data)
	found := first.session(start.Add(4*time.Minute+time.Second), ofDay)
	require.NotNil(t, found)
	assert.Equal(t, start.Add(3*time.Minute), found.Saved)
	first.session(start.Add(5*time.Minute), ofDay)
	assert.NotEqual(t, before, first.configMap(t, "usage").Data, "it is the leader again")
}

// TestTheNewerSaveWinsOnAnyClock is the same with a clock of the first scheduler that is an hour ahead.
func TestTheNewerSaveWinsOnAnyClock(t *testing.T) {
	client := fake.NewClientset()
	first, second := of(client, 1000), of(client, 5000)
	first.session(start.Add(time.Hour), ofDay)
	require.NotNil(t, second.session(start.Add(time.Minute), ofDay))
	second.session(start.Add(2*time.Minute), ofDay)
	before := first.configMap(t, "usage").Data
	assert.Equal(t, "2026-11-23T12:02:00Z", before[savedKey])
	first.session(start.Add(time.Hour+3*time.Minute), ofDay)
	assert.Equal(t, before, first.configMap(t, "usage").Data)
	require.NotNil(t, first.session(start.Add(time.Hour+3*time.Minute+time.Second), ofDay))
}

// TestOwnSaveIsNotTakenOver has an API server that carries out a save and answers with an error.
func TestOwnSaveIsNotTakenOver(t *testing.T) {
	s := of(fake.NewClientset(), 1000)
	s.session(start, ofDay)
	lost := true
	s.client.PrependReactor("update", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if !lost {
			return false, nil, nil
		}
		update := a.(clienttesting.UpdateAction)
		require.NoError(t, s.client.Tracker().Update(update.GetResource(), update.GetObject(), update.GetNamespace()))
		return true, nil, apierrors.NewTimeoutError("slow", 0)
	})
	s.session(start.Add(time.Minute), ofDay)
	require.Len(t, s.warnings, 1)
	lost = false
	assert.Nil(t, s.session(start.Add(2*time.Minute), ofDay))
	assert.Nil(t, s.session(start.Add(2*time.Minute+time.Second), ofDay))
	assert.Equal(t, "2026-11-23T12:02:00Z", s.configMap(t, "usage").Data[savedKey])
}

func TestBadStores(t *testing.T) {
	good := func() map[string]string {
		return map[string]string{versionKey: version, savedKey: start.Format(time.RFC3339Nano), halfLifeKey: "24h0m0s", saveKey: "x/1", partsKey: "1", setKey: oneSet}
	}
	packed, err := Pack(Record{Record: usage.Record{Columns: h200, Queues: map[string]usage.QueueRecord{"q0": {Usage: []float64{7}}}}})
	require.NoError(t, err)
	with := func(key, value string) map[string]string {
		data := good()
		data[key] = value
		return data
	}
	const wanted = "argument stateStore: ConfigMap ns/usage: "
	for name, test := range map[string]struct {
		data    map[string]string
		usage   []byte
		warning string
		kept    bool // it is not overwritten
	}{
		"good":                {good(), packed, "", false},
		"empty":               {nil, nil, wanted + `usage is not read, present use decides: parsing time ""`, false},
		"another half-life":   {with(halfLifeKey, "1h0m0s"), packed, wanted + "usage is not read, present use decides: it has the half-life 1h0m0s", false},
		"no number of parts":  {with(partsKey, "many"), packed, wanted + `usage is not read, present use decides: parts: "many" is not a number from 1 to 64`, false},
		"too many parts":      {with(partsKey, "65"), packed, wanted + `usage is not read, present use decides: parts: "65" is not a number from 1 to 64`, false},
		"a part is missing":   {with(partsKey, "2"), packed, wanted + `usage is not read, present use decides: configmaps "usage-a1" not found`, false},
		"no gzip":             {good(), []byte("text"), wanted + "usage is not read, present use decides: unexpected EOF", false},
		"2 MB of noise":       {good(), bytes.Repeat([]byte("noise"), 400<<10), wanted + "usage is not read, present use decides: gzip: invalid header", false},
		"2 MB":                {good(), padded(t, packed, 2<<20), "", false},
		"cut":                 {good(), packed[:len(packed)/2], wanted + "usage is not read, present use decides: unexpected EOF", false},
		"of a later release":  {with(versionKey, "2"), packed, wanted + errNewer.Error(), true},
		"saved in the future": {with(savedKey, start.Add(time.Hour).Format(time.RFC3339Nano)), packed, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "usage"}, Data: test.data,
				BinaryData: map[string][]byte{usageKey: test.usage}})
			s := of(client, 1)
			found := s.session(start, ofDay)
			s.session(start, ofDay)
			assert.Equal(t, test.warning == "", found != nil)
			if test.warning != "" && assert.Len(t, s.warnings, 1) {
				assert.Contains(t, s.warnings[0], test.warning)
			}
			for minute := range 3 {
				s.session(start.Add(time.Duration(minute)*time.Minute), ofDay)
			}
			if test.kept {
				assert.Zero(t, s.saves())
			} else {
				assert.Equal(t, start.Add(2*time.Minute).Format(time.RFC3339Nano), s.configMap(t, "usage").Data[savedKey])
			}
		})
	}
}

func TestForbiddenStore(t *testing.T) {
	s := of(fake.NewClientset(), 1)
	forbidden := true
	s.client.PrependReactor("*", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return forbidden, nil, apierrors.NewForbidden(v1.Resource("configmaps"), "usage", nil)
	})
	s.session(start, ofDay)
	s.session(start, ofDay)
	require.Len(t, s.warnings, 1)
	assert.Contains(t, s.warnings[0], "usage cannot be loaded")
	forbidden = false
	for minute := range 3 {
		s.session(start.Add(time.Duration(minute+1)*time.Minute), ofDay)
	}
	assert.Equal(t, 2, s.saves(), "the first minute loads")
	require.NoError(t, s.client.CoreV1().ConfigMaps("ns").Delete(t.Context(), "usage", metav1.DeleteOptions{}))
	s.session(start.Add(time.Hour), ofDay)
	s.configMap(t, "usage")
}

// TestOnlyTheFirstReadingIsWaitedFor has an API server that does not answer. Sessions wait for the first attempt alone.
func TestOnlyTheFirstReadingIsWaitedFor(t *testing.T) {
	s, answer := of(fake.NewClientset(), 1), make(chan struct{})
	s.client.PrependReactor("*", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		<-answer
		return true, nil, apierrors.NewTimeoutError("later", 1)
	})
	s.Open(s.client, &ofDay)
	_, loads := s.Loaded()
	assert.True(t, loads)
	answer <- struct{}{}
	s.Wait()
	s.Offer(start, func() Record { return Record{} })
	_, loads = s.Loaded()
	assert.False(t, loads, "the second attempt")
	close(answer)
	s.Wait()
}

// TestAnotherStore changes the argument while the scheduler runs.
func TestAnotherStore(t *testing.T) {
	s := of(fake.NewClientset(), 1)
	s.session(start, ofDay)
	s.configMap(t, "usage")
	with := ofDay
	with.Store.Name = "other"
	s.session(start.Add(time.Minute), with)
	s.configMap(t, "other")
	with.Store = arguments.NoStore
	before := s.saves()
	s.session(start.Add(time.Hour), with)
	assert.Equal(t, before, s.saves())
	assert.Zero(t, s.Saved(), "nothing is up to date")
}

// padded returns a packed record with so many bytes of spaces behind it.
func padded(t *testing.T, packed []byte, length int) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	var all bytes.Buffer
	w, err := gzip.NewWriterLevel(&all, gzip.NoCompression)
	require.NoError(t, err)
	_, err = w.Write(append(text, bytes.Repeat([]byte(" "), length)...))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return all.Bytes()
}
