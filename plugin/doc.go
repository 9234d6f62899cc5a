// Package plugin registers the quota engine with the Volcano scheduler.
//
// One engine serves three names, each a drop-in for the plugin of that name:
//
//	capacity       upstream's capacity, flat and hierarchical
//	proportion     upstream's proportion
//	capacity-card  cpu, memory, and quotas per card model (package index/card)
//
// The main function of a scheduler calls Register before the scheduler starts.
// The rest of the scheduler's configuration stays as it is.
//
// Under the name capacity, cards count in queues with a card annotation and below
// them; without any, nothing about cards is computed. Under the name capacity-card
// they count in all queues, and under the name proportion in none. A leaf without a
// quota of a card has none of it, except under the name capacity where only the root
// has an annotation.
//
// # Arguments
//
// Volcano's own option enableHierarchy of a plugin makes quotas a tree. The arguments of the
// engine are in docs/reference.md, with their values and defaults. An unknown argument, or one
// with a wrong value, is logged once, and the default is used.
//
// # What importers may use
//
// This package, plugin/arguments, plugin/guard, plugin/inspect, plugin/offline and plugin/store stay as they are
// within a major version. The session itself is in plugin/internal/session.
package plugin

import "github.com/capacity-card/capacity-card/plugin/arguments"

// The names that the engine is registered under.
const (
	Name           = arguments.CapacityCard
	CapacityName   = arguments.Capacity
	ProportionName = arguments.Proportion
)

// Names are all of them. Each of these plugins counts all pods and bounds all
// queues, so only one can be in force.
var Names = []string{Name, CapacityName, ProportionName}
