package input

import (
	"bytes"
	"encoding/json"
	"errors"
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
	_, items := member(p.root(), "items")
	if items == nil || i >= len(items.Content) {
		return &position{first: p.first}
	}
	return &position{first: p.first, node: items.Content[i]}
}

// start is the line in which the object begins.
func (p *position) start() int { return p.lineOf(p.root()) }

// line is the line of a field, or of the innermost object around it that is found.
func (p *position) line(path string) int {
	found := p.root()
	for node := found; node != nil && path != ""; {
		var next, key *yaml.Node
		rest := ""
		if node.Kind == yaml.SequenceNode {
			i, after, ok := cutIndex(path)
			if !ok || i >= len(node.Content) {
				break
			}
			next, key, rest = node.Content[i], node.Content[i], after
		} else if node.Kind == yaml.MappingNode {
			key, next, rest = step(node, path)
		}
		if key != nil {
			found = key
		}
		node, path = next, rest
	}
	return p.lineOf(found)
}

func (p *position) lineOf(node *yaml.Node) int {
	if node == nil {
		return p.first
	}
	return p.first + node.Line - 1
}

// step returns the member of a mapping with which a path begins, and the rest of the path.
func step(node *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	for i := len(node.Content) - 2; i >= 0; i -= 2 { // the last one of duplicates
		name := node.Content[i].Value
		for _, form := range []string{"[" + name + "]", name} {
			after, ok := strings.CutPrefix(path, form)
			if ok && (after == "" || after[0] == '.' || after[0] == '[') && (key == nil || len(after) < len(rest)) {
				key, value, rest = node.Content[i], node.Content[i+1], after
			}
		}
	}
	return key, value, strings.TrimPrefix(rest, ".")
}

// cutIndex cuts an index such as [3] off the start of a path.
func cutIndex(path string) (i int, rest string, ok bool) {
	number, rest, closed := strings.Cut(strings.TrimPrefix(path, "["), "]")
	i, err := strconv.Atoi(number)
	return i, strings.TrimPrefix(rest, "."), closed && err == nil
}

// member returns a member of a mapping.
func member(node *yaml.Node, name string) (key, value *yaml.Node) {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
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

// syntaxErrorLine returns the line of the first syntax error in a JSON text, from 0.
func syntaxErrorLine(text []byte) int {
	var value any
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(text, &value), &syntax) && syntax.Offset > 0 {
		return bytes.Count(text[:syntax.Offset-1], []byte("\n"))
	}
	return 0
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
