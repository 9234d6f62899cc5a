package oracle

import "time"

// Unsaved returns the work that a pod loses, in seconds (docs/spec/policies.md, checkpoint-time). start is nil for a
// pod that the kubelet has not started. A text that is no time does not count.
func Unsaved(start *time.Time, now time.Time, checkpoints ...string) int64 {
	if start == nil {
		return 0
	}

	since := *start
	for _, text := range checkpoints {
		for _, layout := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00"} {
			at, err := time.Parse(layout, text)
			if err == nil && at.After(since) {
				since = at
			}
		}
	}
	if since.After(now) {
		return 0
	}

	return int64(now.Sub(since) / time.Second)
}
