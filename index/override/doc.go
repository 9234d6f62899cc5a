// Package override reads the windows of a queue. While a window holds, other values replace those in the annotations
// and the spec of the queue.
//
// # Words
//
//	window   an element of the annotation volcano.sh/override: a period, and the values in it
//	key      the name of a value: an annotation without its prefix, such as card.quota, or a field of the spec
//	holds    a window holds from its first instant until its end, which is the first instant after it
//
// # Rules
//
// If several windows hold at the same time, the later in the list decides, key by key. A JSON object is merged into the
// object of the annotation or the field: other members stay. Any other value replaces it.
//
// # Example
//
//	volcano.sh/card.quota: '{"NVIDIA-H200": 8, "NVIDIA-L40S": 4}'
//	volcano.sh/override: '[{"from": "2026-12-01T00:00Z", "until": "2026-12-08T00:00Z",
//	  "card.quota": {"NVIDIA-H200": 32}}]'
//
// In the first week of December, the quota is {"NVIDIA-H200": 32, "NVIDIA-L40S": 4}.
//
// # What it is not
//
// It reads no clock and keeps nothing: plugin/objects applies the windows to the queues of a session.
package override
