package serve

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
)

// TestHistoryView has the queues below one queue, or all, with the bound of their cards, for a period.
func TestHistoryView(t *testing.T) {
	h := newServer(t, newSource(t, examples), nil).Handler()
	series := func(query string) map[string]model.Point {
		w := get(h, "/history.json?resource=NVIDIA-H200"+query)
		require.Equal(t, http.StatusOK, w.Code)
		var list struct{ Items []model.Series }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &list))
		all := map[string]model.Point{}
		for _, s := range list.Items {
			if !s.Waiting && s.Resource == "NVIDIA-H200" {
				all[s.Queue] = s.Points[len(s.Points)-1]
				all[s.Queue] = model.Point{Value: all[s.Queue].Value, Bound: all[s.Queue].Bound}
			}
		}
		return all
	}
	assert.Equal(t, map[string]model.Point{"": {Value: 6, Bound: 7}, "lab": {Value: 2, Bound: 2}, "train": {Value: 4, Bound: 6}}, series(""))
	assert.Equal(t, map[string]model.Point{"research": {Value: 6, Bound: 6}, "lab": {Value: 2, Bound: 2}, "train": {Value: 4, Bound: 6}}, series("&queue=research&period=24h"))
	assert.Equal(t, map[string]model.Point{"train": {Value: 4, Bound: 6}}, series("&queue=train"))

	page := get(h, "/history?queue=research&period=5m").Body.String()
	assert.Contains(t, page, `<path class="bound"`)
	assert.Contains(t, page, `<option value="5m" selected>5 minutes</option>`)
	text := words(page)
	assert.Contains(t, text, "all queues / root / research")
	assert.Contains(t, text, "train 4 lab 2 quota of research 6")
	assert.Contains(t, text, "lab 2 train 1 other queues 1", "a job waits in research itself, which takes none")
	assert.Contains(t, words(get(h, "/history?resource=NVIDIA-H200").Body.String()), "cards of the nodes 7")
	assert.Contains(t, get(h, "/history?period=year").Body.String(), `<option value="1h" selected>`)
	assert.Equal(t, http.StatusNotFound, get(h, "/history?queue=none").Code)
}
