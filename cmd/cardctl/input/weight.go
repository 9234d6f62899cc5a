package input

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// The bounds of a text that Parse reads, with what aliases repeat. An empty map has 2 bytes, and a
// container that is made of it a thousand; an alias has 2 bytes, and repeats any text.
const (
	mostParts = 20_000  // maps and lists
	mostBytes = 1 << 20 // of keys and values
)

var errTooMuch = fmt.Errorf("more than %d maps and lists, or more than %d MiB, with what its aliases repeat", mostParts, mostBytes>>20)

// weigh returns why the documents of a text are not read, nil if they are.
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

// weight is the size of a text once it is read.
type weight struct{ parts, bytes int }

func (w *weight) tooMuch() bool { return w.parts > mostParts || w.bytes > mostBytes }

// add adds a weight. Weights that are too much saturate.
func (w *weight) add(other weight) {
	w.parts, w.bytes = min(w.parts+other.parts, mostParts+1), min(w.bytes+other.bytes, mostBytes+1)
}

// weight is that of the document. In JSON the brackets within texts count as well.
func (d *document) weight() (weight, error) {
	if !d.yaml {
		return weight{bytes.Count(d.text, []byte("{")) + bytes.Count(d.text, []byte("[")), len(d.text)}, nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(d.text, &root); err != nil {
		return weight{}, err
	}
	anchored := map[*yaml.Node]weight{}
	return weightOf(&root, anchored), nil
}

// weightOf is the weight of a node. It keeps those that aliases can repeat in anchored, so that it visits each
// node once.
func weightOf(node *yaml.Node, anchored map[*yaml.Node]weight) (w weight) {
	if node.Kind == yaml.AliasNode {
		return weightOf(node.Alias, anchored)
	}
	if node.Anchor != "" {
		if known, ok := anchored[node]; ok {
			return known
		}
		anchored[node] = weight{parts: mostParts + 1} // of an alias within its own anchor
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
