package input

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// position finds the lines of fields in a file. It parses the text when the first line is needed. That is rare: only
// for problems, and for lists in YAML.
type position struct {
	text  []byte // of a document, YAML or JSON
	first int    // the first line of the text in the file
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
	result := &position{first: p.first}
	_, items, _ := child(p.root(), "items")
	if items != nil && i < len(items.Content) {
		result.node = items.Content[i]
	}

	return result
}

// start returns the first line of the object.
func (p *position) start() int { return p.line("") }

// plain writes the indices in a path like names.
var plain = strings.NewReplacer("[", ".", "]", "")

// line returns the line of a field. If the field is not found, it returns the line of the innermost object around it.
func (p *position) line(path string) int {
	node := p.root()
	if node == nil {
		return p.first
	}

	line := node.Line
	path = strings.TrimPrefix(plain.Replace(path), ".")
	for path != "" && node != nil {
		var key *yaml.Node
		key, node, path = child(node, path)
		if key != nil {
			line = key.Line
		}
	}

	return p.first + line - 1
}

// child returns the member of a mapping, or the element of a sequence, at the beginning of a path. It also returns the
// rest of the path.
func child(node *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	if node == nil {
		return nil, nil, ""
	}

	if node.Kind == yaml.SequenceNode {
		first, rest, _ := strings.Cut(path, ".")
		i, err := strconv.Atoi(first)
		if err != nil || i < 0 || i >= len(node.Content) {
			return nil, nil, ""
		}
		return node.Content[i], node.Content[i], rest
	}

	// A name can have dots: the longest name counts. Of duplicates, the last one counts.
	longest := 0
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := plain.Replace(node.Content[i].Value)
		after, ok := strings.CutPrefix(path, name)
		if ok && (after == "" || after[0] == '.') && len(name) >= longest {
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
	// The parser counts the lines of these errors from 0, and the lines of all other errors from 1.
	fromZero = regexp.MustCompile(
		`^(did not find expected (<|node content|'-'|key|',')|found (undefined tag|duplicate %|incompatible))`)
	duplicateKey = regexp.MustCompile(`line (\d+): key (".*") already set in map`)
)

// syntaxProblem returns the line of an error of the YAML parser in its text, and the error without the line.
func syntaxProblem(err error, text []byte) (line int, message string) {
	line = 1
	message = strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	if m := syntaxLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = message[len(m[0]):]
		if fromZero.MatchString(message) {
			line++
		}
	}

	// The parser can also name the line after the last one.
	last := bytes.Count(bytes.TrimRight(text, "\n"), []byte("\n")) + 1

	return min(line, last), strings.Join(strings.Fields(strings.TrimPrefix(message, "yaml: ")), " ")
}

// duplicateKeys returns the duplicate keys in an error of the YAML parser, by their lines.
func duplicateKeys(err error) map[int]string {
	keys := map[int]string{}
	for _, m := range duplicateKey.FindAllStringSubmatch(err.Error(), -1) {
		line, _ := strconv.Atoi(m[1])
		keys[line] = m[2]
	}
	return keys
}
