package card

import (
	"slices"
	"testing"
)

func TestUnknownKeys(t *testing.T) {
	for _, c := range []struct {
		keys       Keys
		annotation string
		want       string // "" for none
	}{
		{QueueKeys, QuotaKey, ""},
		{QueueKeys, "volcano.sh/hierarchy-weights", ""},
		{QueueKeys, "volcano.sh/queue-name", ""},
		{QueueKeys, "example.com/card.quota", ""},
		{QueueKeys, "volcano.sh/card.quotas", `"volcano.sh/card.quotas": is unknown and has no effect; did you mean "volcano.sh/card.quota"?`},
		{QueueKeys, "volcano.sh/card.gaurantee", `"volcano.sh/card.gaurantee": is unknown and has no effect; did you mean "volcano.sh/card.guarantee"?`},
		{QueueKeys, "volcano.sh/hierarchy-weight", `"volcano.sh/hierarchy-weight": is unknown and has no effect; did you mean "volcano.sh/hierarchy-weights"?`},
		{QueueKeys, "volcano.sh/cards", `"volcano.sh/cards": is unknown and has no effect`},
		{QueueKeys, NameKey, `"volcano.sh/card.name": is an annotation of pods and has no effect here`},
		{QueueKeys, RequestKey, `"volcano.sh/card.request": is an annotation of jobs and has no effect here`},
		{JobKeys, RequestKey, ""},
		{JobKeys, "volcano.sh/card.card", `"volcano.sh/card.card": is an annotation of pods and has no effect here`},
		{PodKeys, RequestKey, ""}, // of a pod without a job
		{PodKeys, "volcano.sh/card.nmae", `"volcano.sh/card.nmae": is unknown and has no effect; did you mean "volcano.sh/card.name"?`},
		{PodKeys, QuotaKey, `"volcano.sh/card.quota": is an annotation of queues and has no effect here`},
	} {
		got := ""
		for _, p := range c.keys.Unknown(map[string]string{c.annotation: "x", "other": "y"}) {
			got += p.Error()
		}
		if got != c.want {
			t.Errorf("%v with %s: %q, want %q", c.keys, c.annotation, got, c.want)
		}
	}
	problems := QueueKeys.Unknown(map[string]string{"volcano.sh/card.c": "", "volcano.sh/card.a": "", "volcano.sh/card.b": ""})
	if !slices.IsSortedFunc(problems, func(x, y Problem) int { return slices.Compare([]byte(x.Key), []byte(y.Key)) }) || len(problems) != 3 {
		t.Errorf("%v are not in order", problems)
	}
}
