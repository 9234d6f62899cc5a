// Package override reads the windows of a queue, during which other values hold than those of its annotations and its
// spec.
//
// # Words
//
//	window   an element of the annotation volcano.sh/override: when it holds, and what it sets
//	key      what a window sets: an annotation without its prefix, such as card.quota, or a field of the spec
//	holds    a window holds from its first instant until its end, which is the first instant without it
//
// # Rules
//
// Of windows that hold at the same time, the later in the list decides, key by key. A JSON object is merged with that
// of the annotation or the field: what it does not name stays. Everything else replaces it.
//
// # Example
//
//	volcano.sh/card.quota: '{"NVIDIA-H200": 8, "NVIDIA-L40S": 4}'
//	volcano.sh/override: '[{"from": "2026-12-01T00:00Z", "until": "2026-12-08T00:00Z", "card.quota": {"NVIDIA-H200": 32}}]'
//
// In the first week of December, the quota is {"NVIDIA-H200": 32, "NVIDIA-L40S": 4}.
//
// # What it is not
//
// It reads no clock and keeps nothing: plugin/objects applies the windows to the queues of a session.
package override
