package input

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// The bounds of a text for Parse, including the repetitions by aliases. Both are needed: an empty map has 2 bytes but
// can become a container of a thousand bytes, and an alias has 2 bytes but repeats any text.
const (
	mostParts = 20_000  // maps and lists
	mostBytes = 1 << 20 // of keys and values
)

var errTooMuch = fmt.Errorf("more than %d maps and lists, or more than %d MiB, with what its aliases repeat",
	mostParts, mostBytes>>20)

// weigh returns the problem of documents that are too large or have a syntax error, nil for none.
func weigh(documents []*document) *Problem {
	var all weight
	for _, d := range documents {
		w, err := d.weight()
		if err != nil {
			line, message := syntaxProblem(err, d.text)
			return &Problem{Source: Source{d.File, d.Line + line - 1}, Message: message}
		}

		all.add(w)
		if all.tooMuch() {
			return &Problem{Source: d.Source, Message: errTooMuch.Error()}
		}
	}

	return nil
}

// weight is the size of a text after decoding.
type weight struct{ parts, bytes int }

func (w *weight) tooMuch() bool { return w.parts > mostParts || w.bytes > mostBytes }

// add adds a weight. The sum saturates above the bounds.
func (w *weight) add(other weight) {
	w.parts = min(w.parts+other.parts, mostParts+1)
	w.bytes = min(w.bytes+other.bytes, mostBytes+1)
}

// weight returns the weight of the document. In JSON it also counts the brackets inside of texts.
func (d *document) weight() (weight, error) {
	if !d.yaml {
		return weight{bytes.Count(d.text, []byte("{")) + bytes.Count(d.text, []byte("[")), len(d.text)}, nil
	}

	var root yaml.Node
	if err := yaml.Unmarshal(d.text, &root); err != nil {
		return weight{}, err
	}
	return weightOf(&root, map[*yaml.Node]weight{}), nil
}

// weightOf returns the weight of a node. It keeps the weights of nodes with an anchor, so that it visits each node
// once.
func weightOf(node *yaml.Node, anchored map[*yaml.Node]weight) (w weight) {
	if node.Kind == yaml.AliasNode {
		return weightOf(node.Alias, anchored)
	}

	if node.Anchor != "" {
		if known, ok := anchored[node]; ok {
			return known
		}
		anchored[node] = weight{parts: mostParts + 1} // for an alias within its own anchor
		defer func() { anchored[node] = w }()
	}

	w.bytes = len(node.Value)
	if node.Kind == yaml.MappingNode || node.Kind == yaml.SequenceNode {
		w.parts = 1
	}
	for _, each := range node.Content {
		w.add(weightOf(each, anchored))
	}

	return w
}
