// Command packaging makes what a release has: images, SBOMs, charts, archives,
// manifests and checksums. The same commit and the same Go make the same bytes.
//
// It is a module of its own, so that what it requires is no requirement of the scheduler.
// Makefile calls it in the root of the repository.
package main
