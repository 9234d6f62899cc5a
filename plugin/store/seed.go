package store

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capacity-card/capacity-card/plugin/arguments"
)

// Stored is the content of the ConfigMaps. It is for programs that read them without a Store.
type Stored struct {
	Record   Record
	Saved    time.Time
	HalfLife time.Duration
	// Now is the time of sessions that begin with it, because a dump of a cluster is older than the clock. Zero is
	// the time of their clock.
	Now             time.Time
	ResourceVersion string // of the first ConfigMap
	Set             string // of the parts
}

// IsStored reports whether a ConfigMap looks like the first one of a save.
func IsStored(c *v1.ConfigMap) bool {
	_, halfLife := c.Data[halfLifeKey]
	_, parts := c.Data[partsKey]
	return halfLife && parts && c.BinaryData[usageKey] != nil
}

// Read reads the save that begins in a ConfigMap. part returns the other ConfigMaps by name.
func Read(first *v1.ConfigMap, part func(name string) (*v1.ConfigMap, error)) (*Stored, error) {
	if v := first.Data[versionKey]; v != version {
		return nil, fmt.Errorf("it is of another release: %s %q", versionKey, v)
	}

	saved, err := time.Parse(time.RFC3339Nano, first.Data[savedKey])
	if err != nil {
		return nil, err
	}

	halfLife, err := time.ParseDuration(first.Data[halfLifeKey])
	if err != nil {
		return nil, err
	}

	record, _, err := join(first, part)
	if err != nil {
		return nil, err
	}
	if _, err := record.state(saved, halfLife > 0); err != nil {
		return nil, err
	}

	return &Stored{
		Record:          record,
		Saved:           saved,
		HalfLife:        halfLife,
		ResourceVersion: first.ResourceVersion,
		Set:             first.Data[setKey],
	}, nil
}

// Write returns the ConfigMaps of a save that replaces the one that was read, in order. writer is not the name of a
// scheduler, so running schedulers read the new save.
func Write(name types.NamespacedName, s *Stored, writer string) ([]*v1.ConfigMap, error) {
	packed, err := Pack(s.Record)
	if err != nil {
		return nil, err
	}

	all := split(name, packed, head{
		saved:    s.Saved,
		halfLife: s.HalfLife,
		writer:   writer,
		save:     writer + "/1",
		set:      after(s.Set),
	})
	all[0].ResourceVersion = s.ResourceVersion
	return all, nil
}

// Fits returns an error if the save does not have the half-life of the settings.
func (s *Stored) Fits(with *arguments.FairShare) error {
	if s.HalfLife != with.HalfLife {
		return fmt.Errorf("it has the half-life %s, and the configuration %s", s.HalfLife, with.HalfLife)
	}
	return nil
}
