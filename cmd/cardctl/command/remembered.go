package command

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/override"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/plugin/store"
)

// wrongQueues returns the queues of a cluster with wrong annotations, of which the scheduler may use the last good
// values. A queue of a manifest has no UID, and had no values before.
func wrongQueues(from *input.Objects) (all []*scheduling.Queue) {
	if from == nil {
		return nil
	}
	for _, q := range from.Queues {
		if q.UID != "" && len(wrongKeys(q.Annotations)) > 0 {
			all = append(all, q)
		}
	}
	return all
}

// wrongKeys returns the annotations of a queue that are wrong, in order.
func wrongKeys(annotations map[string]string) (keys []string) {
	for _, key := range []string{card.QuotaKey, card.DeservedKey, card.GuaranteeKey} {
		text, given := annotations[key]
		if _, problems := card.ParseQuota(text); given && len(problems) > 0 {
			keys = append(keys, key)
		}
	}

	_, wrong := policy.Parse(annotations)
	for _, w := range wrong {
		keys = append(keys, w.Key)
	}

	text, given := annotations[override.Key]
	if _, problems := override.Parse(text); given && len(problems) > 0 {
		keys = append(keys, override.Key)
	}
	return keys
}

// sayRemembered writes to stderr which last good values count, and of which queues they are not known. stored is nil if
// lacks says why nothing was read.
func (s *source) sayRemembered(wrong []*scheduling.Queue, stored *store.Stored, lacks string) {
	var known objects.Kept
	switch {
	case stored == nil:
	case stored.Record.Remembered == nil:
		lacks = "the scheduler has not saved them"
	case stored.Record.Remembered.Version != store.RememberedVersion:
		lacks = "a later release has saved them"
	default:
		lacks = "the scheduler has not saved them"
		known = stored.Record.Remembered.Queues
	}

	for _, q := range wrong {
		kept, has := known[q.Name]
		if !has || kept.UID != q.UID {
			text := "queue " + q.Name + ": wrong annotations count as not set: " +
				strings.Join(wrongKeys(q.Annotations), ", ") +
				". The scheduler may use their last good values, which are not known: " + lacks
			s.unknown = append(s.unknown, text)
			s.warning("%s", text)
			continue
		}

		for _, key := range slices.Sorted(maps.Keys(kept.Annotations)) {
			s.note("queue %s: %s is wrong, and its last good value counts: %s",
				q.Name, key, index.Shorten(kept.Annotations[key], 100))
		}
	}
}

// incomplete is data of a command with the field unknown: what the answers do not take into account.
type incomplete struct {
	data    any // an object
	unknown []string
}

// MarshalJSON adds the field to the end of the object.
func (i incomplete) MarshalJSON() ([]byte, error) {
	var object, unknown bytes.Buffer
	if err := printData(&object, asJSON, i.data, true); err != nil {
		return nil, err
	}
	if err := printData(&unknown, asJSON, i.unknown, true); err != nil {
		return nil, err
	}

	open := bytes.TrimSuffix(bytes.TrimSpace(object.Bytes()), []byte("}"))
	return slices.Concat(open, []byte(`,"unknown":`), unknown.Bytes(), []byte("}")), nil
}
