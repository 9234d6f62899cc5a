package view

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/workload"
)

func TestLists(t *testing.T) {
	played, err := newCluster(workload.Cluster{
		Nodes:  []workload.Node{{Name: "n"}},
		Queues: []workload.Queue{{Name: "q", Weight: 1}},
		Jobs: []workload.Job{{Name: "j", Queue: "q", Phase: workload.Running, Tasks: []workload.Task{
			{Name: "a", Node: "n", Status: workload.TaskRunning},
			{Name: "b", Status: workload.TaskPending},
		}}},
	})
	require.NoError(t, err)

	for _, c := range []struct {
		path, kind, version string
		items               int
	}{
		{"/api/v1/nodes", "NodeList", "v1", 1},
		{"/api/v1/pods", "PodList", "v1", 2},
		{"/apis/scheduling.volcano.sh/v1beta1/queues", "QueueList", "scheduling.volcano.sh/v1beta1", 1},
		{"/apis/scheduling.volcano.sh/v1beta1/podgroups", "PodGroupList", "scheduling.volcano.sh/v1beta1", 1},
		{"/apis/batch.volcano.sh/v1alpha1/jobs", "JobList", "batch.volcano.sh/v1alpha1", 0},
	} {
		t.Run(c.kind, func(t *testing.T) {
			answer := httptest.NewRecorder()
			played.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, c.path, nil))
			var list struct {
				Kind, APIVersion string
				Items            []json.RawMessage
			}
			require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &list))
			assert.Equal(t, c.kind, list.Kind)
			assert.Equal(t, c.version, list.APIVersion)
			assert.Len(t, list.Items, c.items)
			assert.NotNil(t, list.Items, "an empty list is not null")
		})
	}
	assert.EqualValues(t, "Running", played.pods[0].Status.Phase)
	assert.EqualValues(t, "Pending", played.pods[1].Status.Phase)
}

func TestUnknownKind(t *testing.T) {
	answer := httptest.NewRecorder()
	(&played{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/api/v1/secrets", nil))
	assert.Equal(t, http.StatusNotFound, answer.Code)
	assert.Contains(t, answer.Body.String(), `"reason":"NotFound"`)
}
