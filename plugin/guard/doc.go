// Package guard keeps a scheduler from working with a configuration under which
// quotas are not what they say.
//
// Volcano takes a configuration as it is. A plugin that nobody registered is
// skipped in every cycle, with a line in the log, and what it would have refused
// is let through. A file that cannot be read at the start is replaced by a
// default one, with proportion in it. Two quota plugins both have to agree.
//
// Check finds such configurations. A Stage goes between the user's file, which
// may be edited while the scheduler runs, and the file that Volcano watches: only
// what Check accepts gets from one to the other.
//
// Volcano asks the plugins tier by tier, and in some questions the first tier that
// has an answer decides. Warnings finds where that leaves out the quota plugin, or
// another one, and keys that Volcano does not know.
package guard
