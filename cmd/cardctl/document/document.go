// Package document has the fields with which each JSON and YAML document of cardctl begins.
package document

import "github.com/capacity-card/capacity-card/plugin/status"

// Head is embedded in a document. Version is the version of its fields: a field can be added to it, and none is renamed
// or removed.
type Head struct {
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// Of returns the head of a document of a kind.
func Of(kind string) Head { return Head{status.Version, kind} }
