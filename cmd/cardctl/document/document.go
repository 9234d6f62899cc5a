// Package document has the fields with which each JSON and YAML document of cardctl begins.
package document

import "github.com/capacity-card/capacity-card/plugin/status"

// Head is embedded in a document. Version is the version of its fields: a field can be added to it, and none is renamed
// or removed.
type Head struct {
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Unknown has the facts that the document leaves out: only the scheduler knows them, or the user may not list them.
	Unknown []string `json:"unknown,omitempty"`
}

// SetUnknown sets the facts that the document leaves out.
func (h *Head) SetUnknown(facts []string) { h.Unknown = facts }

// Of returns the head of a document of a kind.
func Of(kind string) Head { return Head{Version: status.Version, Kind: kind} }
