package serve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
)

// claimsWait has two pods of a job without room: each has a claim of its own for two devices of one model, and both
// share one for a device of either model.
const claimsWait = `
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: 64, memory: 64Gi, pods: 100}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.nvidia.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: a}
spec:
  driver: gpu.nvidia.com
  nodeName: a
  pool: {name: a, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, attributes: {type: {string: gpu}, productName: {string: NVIDIA H200}}}
  - {name: gpu-1, attributes: {type: {string: gpu}, productName: {string: NVIDIA H200}}}
  - {name: gpu-2, attributes: {type: {string: gpu}, productName: {string: NVIDIA H100}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one, namespace: default, uid: one}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: 2, selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA H200"'}}]}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: two, namespace: default, uid: two}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: 2, selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA H200"'}}]}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: ours, namespace: default, uid: ours}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q, annotations: {volcano.sh/card.quota: '{"NVIDIA-H200": 1, "NVIDIA-H100": 1}'}}
spec: {capability: {cpu: 64, memory: 64Gi}}
status: {state: Open}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g, namespace: default}
spec: {queue: q, minMember: 2}
status: {phase: Inqueue}
---
apiVersion: v1
kind: Pod
metadata: {name: one, namespace: default, uid: p1, annotations: {scheduling.k8s.io/group-name: g}}
spec: {schedulerName: volcano, containers: [{name: c, image: i}],
  resourceClaims: [{name: mine, resourceClaimTemplateName: t}, {name: ours, resourceClaimName: ours}]}
status: {phase: Pending, resourceClaimStatuses: [{name: mine, resourceClaimName: one}]}
---
apiVersion: v1
kind: Pod
metadata: {name: two, namespace: default, uid: p2, annotations: {scheduling.k8s.io/group-name: g}}
spec: {schedulerName: volcano, containers: [{name: c, image: i}],
  resourceClaims: [{name: mine, resourceClaimTemplateName: t}, {name: ours, resourceClaimName: ours}]}
status: {phase: Pending, resourceClaimStatuses: [{name: mine, resourceClaimName: two}]}
`

// TestWaitingShowsClaims shows the cards of pods that get them by resource claims alone. A claim that pods share counts
// once.
func TestWaitingShowsClaims(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claims.yaml")
	require.NoError(t, os.WriteFile(path, []byte(claimsWait), 0o600))
	h := newServer(t, newSource(t, path), nil).Handler()
	for _, page := range []string{"/waiting", "/queue/q"} {
		assert.Contains(t, words(get(h, page).Body.String()), "NVIDIA-H100|NVIDIA-H200 NVIDIA-H200 1 4", page)
	}
	var list struct{ Items []jobRow }
	require.NoError(t, json.Unmarshal(get(h, "/waiting.json").Body.Bytes(), &list))
	require.Len(t, list.Items, 1)
	assert.Equal(t, []stock.Amount{{Card: "NVIDIA-H100|NVIDIA-H200", Cards: 1}, {Card: "NVIDIA-H200", Cards: 4}}, list.Items[0].Requests)
	advice := words(get(h, "/job/default/g").Body.String())
	assert.Contains(t, advice, `raise volcano.sh/card.quota of "NVIDIA-H200" of queue q to 4, or request less`, "for both pods")
	assert.NotContains(t, advice, "name a card")
}
