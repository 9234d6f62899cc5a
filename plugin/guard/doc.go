// Package guard keeps a scheduler from running with a configuration under which
// quotas do not hold.
//
// Volcano checks little of a configuration. It skips a plugin that is not registered,
// with a line in the log of every cycle, so nothing that the plugin refuses is refused.
// It replaces a file that it cannot read at start by a default configuration, which
// has the plugin proportion. Of two quota plugins both have to admit. Pods for which
// others are evicted never start if the action that evicts runs before allocate.
//
// Check finds such configurations. A Stage copies the user's file, which may change
// while the scheduler runs, to the file that Volcano watches. It copies only what
// Check accepts.
//
// Volcano calls the plugins tier by tier, and for some hooks the first tier that
// answers decides. Warnings finds where the quota plugin or another one has no vote
// because of that. It also finds keys that Volcano does not know.
package guard
