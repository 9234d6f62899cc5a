package store

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/plugin/objects"
	"github.com/capacity-card/capacity-card/quota/budget"
	"github.com/capacity-card/capacity-card/quota/evict"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// The keys of a ConfigMap that stores a record. A large record has more ConfigMaps with the same save. Their names
// end with the set and a number: -a1, -a2 and so on. Saves alternate between the sets, and write the first ConfigMap
// last. So a save that is interrupted leaves the save before it intact.
const (
	savedKey    = "saved"    // time
	halfLifeKey = "halfLife" // of usage; noHalfLife if no usage is kept
	writerKey   = "writer"   // a scheduler
	saveKey     = "save"     // the same in all ConfigMaps of one save
	partsKey    = "parts"    // their number
	setKey      = "set"      // of the parts: a or b
	versionKey  = "version"
	usageKey    = "usage" // binary: a part of the gzipped Record
)

// version is the version of the format.
const version = "1"

// noHalfLife is the half-life of a record without usage.
var noHalfLife = time.Duration(0).String()

// partSize is the maximum size of a part. etcd refuses objects of more than 1.5 MiB.
const partSize = 512 << 10

// errNewer is the error for a format that only a later release can read.
var errNewer = errors.New("is of a later release, and is neither read nor written")

// mostParts is the maximum number of parts.
const mostParts = 64

// head has the values that are the same in all ConfigMaps of a save.
type head struct {
	saved             time.Time
	halfLife          time.Duration
	writer, save, set string
}

// The sets of parts.
const (
	oneSet   = "a"
	otherSet = "b"
)

// after returns the set of the save after a save with a given set.
func after(set string) string {
	if set == oneSet {
		return otherSet
	}
	return oneSet
}

// split returns the ConfigMaps of a save in order.
func split(name types.NamespacedName, packed []byte, h head) (all []*v1.ConfigMap) {
	parts := max(1, (len(packed)+partSize-1)/partSize)
	for i := range parts {
		all = append(all, &v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: partName(name.Name, h.set, i)},
			Data: map[string]string{
				versionKey:  version,
				savedKey:    h.saved.UTC().Format(time.RFC3339Nano),
				halfLifeKey: h.halfLife.String(),
				writerKey:   h.writer,
				saveKey:     h.save,
				partsKey:    strconv.Itoa(parts),
				setKey:      h.set,
			},
			BinaryData: map[string][]byte{usageKey: packed[i*partSize : min(len(packed), (i+1)*partSize)]},
		})
	}
	return all
}

func partName(first, set string, i int) string {
	if i == 0 {
		return first
	}
	return fmt.Sprintf("%s-%s%d", first, set, i)
}

// join returns the record of a save, and the number of parts. part returns a ConfigMap by name.
func join(first *v1.ConfigMap, part func(name string) (*v1.ConfigMap, error)) (record Record, parts int, err error) {
	parts, err = strconv.Atoi(first.Data[partsKey])
	if err != nil || parts < 1 || parts > mostParts {
		return record, 0, fmt.Errorf("%s: %q is not a number from 1 to %d", partsKey, first.Data[partsKey], mostParts)
	}

	packed := bytes.Clone(first.BinaryData[usageKey])
	for i := 1; i < parts; i++ {
		next, err := part(partName(first.Name, first.Data[setKey], i))
		if err != nil {
			return record, parts, err
		}
		if next.Data[saveKey] != first.Data[saveKey] {
			return record, parts, fmt.Errorf("%s is of another save", next.Name)
		}

		packed = append(packed, next.BinaryData[usageKey]...)
	}

	record, err = Unpack(packed)
	return record, parts, err
}

// Record is the stored content: the usage of queues over time, the used part of budgets, and the lasting effects of
// evictions. A part is nil if there is nothing to store. Fields that a later release adds are not read.
type Record struct {
	usage.Record
	Budgets   *budget.Record `json:"budgets,omitempty"`
	Evictions *evict.Record  `json:"evictions,omitempty"`
	// Remembered is nil for a record of an earlier release, and where there is nothing to remember.
	Remembered *Remembered `json:"remembered,omitempty"`
}

// RememberedVersion is the version of Remembered.
const RememberedVersion = 1

// Remembered are the last good values, the held cards and the earmarks, which only the running scheduler knows.
// Programs without a scheduler read them. A scheduler that starts does not.
type Remembered struct {
	Version  int             `json:"version"`
	Queues   objects.Kept    `json:"queues,omitempty"`
	Pods     cards.HeldCards `json:"pods,omitempty"`
	Earmarks earmark.Kept    `json:"earmarks,omitempty"`
}

// withoutKnown returns the record without the values that only depend on its age.
func (r Record) withoutKnown() Record {
	r.Record = r.WithoutKnown()
	return r
}

// state returns the state in a record, nil for an empty one.
func (r *Record) state(saved time.Time, withUsage bool) (s *State, err error) {
	s = &State{Saved: saved}
	if withUsage {
		s.History, err = usage.New(r.Record)
		if err != nil {
			return nil, err
		}
	}

	if r.Budgets != nil {
		s.Budgets, err = budget.New(r.Budgets, saved)
		if err != nil {
			err = fmt.Errorf("budgets: %w", err) // the usage is still good
		}
	}

	if r.Evictions != nil {
		var wrong error
		s.Evictions, wrong = evict.New(r.Evictions)
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("evictions: %w", wrong))
		}
	}

	if s.History == nil && s.Budgets == nil && s.Evictions == nil {
		return nil, err
	}
	return s, err
}

// Pack returns a record in its stored form.
func Pack(r Record) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if err := json.NewEncoder(w).Encode(r); err != nil {
		return nil, err
	}

	err := w.Close()
	return packed.Bytes(), err
}

// most is the maximum size of a record before it is packed.
const most = 256 << 20

// Unpack returns a record from its stored form.
func Unpack(packed []byte) (record Record, err error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return record, err
	}
	err = json.NewDecoder(io.LimitReader(r, most)).Decode(&record)
	return record, err
}
