package input

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// position finds the lines of fields in the file. The text is parsed when the first line
// is needed, which is rare: only for problems, and for lists in YAML.
type position struct {
	text  []byte // of a document, YAML or JSON
	first int    // the line of the file in which text begins
	node  *yaml.Node
}

// root returns the node of the object, nil if the text cannot be parsed.
func (p *position) root() *yaml.Node {
	if p.node == nil && p.text != nil {
		var document yaml.Node
		if yaml.Unmarshal(p.text, &document) == nil && len(document.Content) > 0 {
			p.node = document.Content[0]
		}
		p.text = nil
	}
	return p.node
}

// item returns the position of an item of a list.
func (p *position) item(i int) *position {
	if _, items, _ := child(p.root(), "items"); items != nil && i < len(items.Content) {
		return &position{first: p.first, node: items.Content[i]}
	}
	return &position{first: p.first}
}

// start is the line in which the object begins.
func (p *position) start() int { return p.line("") }

// plain makes the names and indices in a path alike.
var plain = strings.NewReplacer("[", ".", "]", "")

// line is the line of a field, or of the innermost object around it that is found.
func (p *position) line(path string) int {
	node := p.root()
	if node == nil {
		return p.first
	}
	line := node.Line
	for path = strings.TrimPrefix(plain.Replace(path), "."); path != "" && node != nil; {
		var key *yaml.Node
		key, node, path = child(node, path)
		if key != nil {
			line = key.Line
		}
	}
	return p.first + line - 1
}

// child returns the member of a mapping, or the element of a sequence, with which a path begins, and
// the rest of the path.
func child(node *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	if node == nil {
		return nil, nil, ""
	}
	if node.Kind == yaml.SequenceNode {
		first, rest, _ := strings.Cut(path, ".")
		if i, err := strconv.Atoi(first); err == nil && 0 <= i && i < len(node.Content) {
			return node.Content[i], node.Content[i], rest
		}
		return nil, nil, ""
	}
	longest := 0 // a name can have dots
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := plain.Replace(node.Content[i].Value)
		after, ok := strings.CutPrefix(path, name)
		if ok && (after == "" || after[0] == '.') && len(name) >= longest { // the last one of duplicates
			longest = len(name)
			key = node.Content[i]
			value = node.Content[i+1]
			rest = strings.TrimPrefix(after, ".")
		}
	}
	return key, value, rest
}

var (
	syntaxLine = regexp.MustCompile(`^yaml: line (\d+): `)
	// The parser counts the lines of these errors from 0, and those of all others from 1.
	fromZero     = regexp.MustCompile(`^(did not find expected (<|node content|'-'|key|',')|found (undefined tag|duplicate %|incompatible))`)
	duplicateKey = regexp.MustCompile(`line (\d+): key (".*") already set in map`)
)

// syntaxProblem returns the line of an error of the YAML parser within its text, and the
// error without the line.
func syntaxProblem(err error, text []byte) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	line = 1
	if m := syntaxLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = message[len(m[0]):]
		if fromZero.MatchString(message) {
			line++
		}
	}
	last := bytes.Count(bytes.TrimRight(text, "\n"), []byte("\n")) + 1 // the parser also names the line after it
	return min(line, last), strings.Join(strings.Fields(strings.TrimPrefix(message, "yaml: ")), " ")
}

// duplicateKeys returns the keys that an error of the YAML parser names as duplicates, by
// their lines.
func duplicateKeys(err error) map[int]string {
	keys := map[int]string{}
	for _, m := range duplicateKey.FindAllStringSubmatch(err.Error(), -1) {
		line, _ := strconv.Atoi(m[1])
		keys[line] = m[2]
	}
	return keys
}
