package store

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capacity-card/capacity-card/plugin/arguments"
)

// Stored is the content of the ConfigMaps, for programs that read them themselves.
type Stored struct {
	Record   Record
	Saved    time.Time
	HalfLife time.Duration
	// Now is the time of sessions that begin with it, the zero time for that of their clock: a
	// dump of a cluster was taken some time ago.
	Now time.Time
	// ResourceVersion and Set are those of the ConfigMaps: of the first, and of its parts.
	ResourceVersion, Set string
}

// IsStored reports whether a ConfigMap looks like one that stores usage.
func IsStored(c *v1.ConfigMap) bool {
	_, halfLife := c.Data[halfLifeKey]
	_, parts := c.Data[partsKey]
	return halfLife && parts && c.BinaryData[usageKey] != nil
}

// Read reads the usage that begins in a ConfigMap. part returns the other ConfigMaps by their names.
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
	packed, _, err := join(first, part)
	if err != nil {
		return nil, err
	}
	record, err := Unpack(packed)
	if err != nil {
		return nil, err
	}
	if _, err := record.state(saved, halfLife > 0); err != nil {
		return nil, err
	}
	return &Stored{Record: record, Saved: saved, HalfLife: halfLife, ResourceVersion: first.ResourceVersion, Set: first.Data[setKey]}, nil
}

// Write returns the ConfigMaps of a usage that replace those that it was read from, the first one first. writer is no
// scheduler: those that run take over what another one has saved.
func Write(name types.NamespacedName, s *Stored, writer string) ([]*v1.ConfigMap, error) {
	packed, err := Pack(s.Record)
	if err != nil {
		return nil, err
	}
	all := split(name, packed, head{saved: s.Saved, halfLife: s.HalfLife, writer: writer, save: writer + "/1", set: after(s.Set)})
	all[0].ResourceVersion = s.ResourceVersion
	return all, nil
}

// Fits returns an error if a usage is not one of the settings.
func (s *Stored) Fits(with *arguments.FairShare) error {
	if s.HalfLife != with.HalfLife {
		return fmt.Errorf("it has the half-life %s, and the configuration %s", s.HalfLife, with.HalfLife)
	}
	return nil
}
