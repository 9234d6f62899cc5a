// Package guard prevents a scheduler from running with a configuration under which quotas do not hold.
//
// Volcano checks little of a configuration:
//   - It skips a plugin that is not registered, with a line in the log of every cycle. The plugin then refuses nothing.
//   - It replaces a file that it cannot read at start by a default configuration, which has the plugin proportion.
//   - It accepts two quota plugins, and both have to admit a job.
//   - It accepts an action that evicts before allocate. Pods for which others are evicted then never start.
//
// Check finds such configurations. A Stage copies the user's file, which may change while the scheduler runs, to the
// file that Volcano watches. It copies only a content that Check accepts.
//
// Volcano calls the plugins tier by tier, and for some hooks the first tier that answers decides. Warnings finds
// configurations in which the quota plugin or another plugin has no vote because of that. It also finds keys that
// Volcano does not know.
package guard
