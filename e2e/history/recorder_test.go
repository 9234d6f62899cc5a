package history

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// stage is an API server that a test plays: each watch takes the next part of the script.
type stage struct {
	lists   []*unstructured.UnstructuredList
	watches []func(from string) (watch.Interface, error)
	over    chan struct{}
}

func (s *stage) source() Source {
	return Source{
		Kind: "Pod",
		List: func(context.Context) (*unstructured.UnstructuredList, error) {
			list := s.lists[0]
			s.lists = s.lists[1:]
			return list, nil
		},
		Watch: func(_ context.Context, from string) (watch.Interface, error) {
			if len(s.watches) == 0 {
				close(s.over)
				return watch.NewFake(), nil
			}
			next := s.watches[0]
			s.watches = s.watches[1:]
			return next(from)
		},
	}
}

func pod(name string, revision int) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetName(name)
	object.SetUID(types.UID(name))
	object.SetResourceVersion(strconv.Itoa(revision))
	return object
}

func list(revision int, pods ...*unstructured.Unstructured) *unstructured.UnstructuredList {
	all := &unstructured.UnstructuredList{Object: map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(revision)}}}
	for _, each := range pods {
		all.Items = append(all.Items, *each)
	}
	return all
}

// watched plays a watch that has these changes, and ends.
func watched(t *testing.T, from string, events ...watch.Event) func(string) (watch.Interface, error) {
	return func(revision string) (watch.Interface, error) {
		require.Equal(t, from, revision, "a watch resumes behind the last change")
		channel := make(chan watch.Event, len(events))
		for _, event := range events {
			channel <- event
		}
		close(channel)
		return watch.NewProxyWatcher(channel), nil
	}
}

func event(kind watch.EventType, object runtime.Object) watch.Event {
	return watch.Event{Type: kind, Object: object}
}

// TestRecorder cuts watches, refuses one, and discards changes. Only the discarded changes are lost, and the history
// says so.
func TestRecorder(t *testing.T) {
	expired := apierrors.NewResourceExpired("compacted")
	s := &stage{
		over:  make(chan struct{}),
		lists: []*unstructured.UnstructuredList{list(5, pod("a", 3), pod("b", 4)), list(20, pod("a", 3), pod("d", 18))},
		watches: []func(string) (watch.Interface, error){
			watched(t, "5", event(watch.Added, pod("c", 7)), event(watch.Modified, pod("b", 8))),
			func(string) (watch.Interface, error) { return nil, fmt.Errorf("connection refused") },
			watched(t, "8", event(watch.Deleted, pod("c", 9)), event(watch.Bookmark, pod("", 12))),
			watched(t, "12", event(watch.Error, &expired.ErrStatus)),
			watched(t, "20", event(watch.Added, pod("e", 21))),
		},
	}
	path := filepath.Join(t.TempDir(), "history.gz")
	w, err := Create(path)
	require.NoError(t, err)
	r, err := Start(w, []Source{s.source()})
	require.NoError(t, err)
	<-s.over
	s.lists = []*unstructured.UnstructuredList{list(21, pod("a", 3), pod("d", 18), pod("e", 21)), list(22, pod("a", 22), pod("d", 18), pod("e", 21)), list(23, pod("a", 3))}
	for _, want := range [][]string{nil, {"Pod"}, {"Pod"}} {
		behind, err := r.Behind(t.Context(), "Pod")
		require.NoError(t, err)
		require.Equal(t, want, behind)
	}
	r.Mark("killed", "scheduler-1", "")
	require.NoError(t, r.Stop())

	records, err := Open(path)
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(`
5 listed Pod a
5 listed Pod b
7 added Pod c
8 modified Pod b
9 deleted Pod c
20 gap Pod from 12
20 deleted Pod b
20 listed Pod a
20 listed Pod d
21 added Pod e
21 mark killed scheduler-1`), text(t, records))
}

// text has a line for each record.
func text(t *testing.T, records []Record) string {
	t.Helper()
	var lines []string
	for _, r := range records {
		line := fmt.Sprintf("%d %s", r.Revision, r.Type)
		switch {
		case r.Mark != nil:
			line += " " + r.Mark.What + " " + r.Mark.Name
		case r.Type == Gap:
			line += fmt.Sprintf(" %s from %d", r.Kind, r.From)
		default:
			object := &unstructured.Unstructured{}
			require.NoError(t, object.UnmarshalJSON([]byte(strings.Replace(string(r.Object), "{", `{"kind":"Pod","apiVersion":"v1",`, 1))))
			line += " " + r.Kind + " " + object.GetName()
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestReadSorts has the watches of two kinds arrive one after the other, and a file that ends in the middle.
func TestReadSorts(t *testing.T) {
	var file buffer
	w := NewWriter(&file)
	for _, revision := range []int64{2, 5, 9} {
		w.Add(Record{Revision: revision, Type: Added, Kind: "Pod"})
	}
	for _, revision := range []int64{3, 7} {
		w.Add(Record{Revision: revision, Type: Added, Kind: "Node"})
	}
	w.Mark("quiet", "", "")
	require.NoError(t, w.Close())
	records, err := Read(bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	var order []int64
	for _, record := range records {
		order = append(order, record.Revision)
	}
	require.Equal(t, []int64{2, 3, 5, 7, 9, 9}, order)
	require.Equal(t, Marked, records[5].Type)

	_, err = Read(bytes.NewReader(file.Bytes()[:file.Len()/2]))
	require.Error(t, err)
}

type buffer struct{ bytes.Buffer }

func (*buffer) Close() error { return nil }
