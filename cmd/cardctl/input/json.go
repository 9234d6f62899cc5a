package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"
)

var (
	errCutShort  = errors.New("the JSON ends in the middle of an object")
	errNotObject = errors.New("not a Kubernetes object")
)

// space holds the characters that JSON permits between two tokens.
const space = " \t\r\n"

// head holds the fields that decide how an object is decoded.
type head struct {
	apiVersion, kind string
	items            []span // of a list; nil if the object has no array of items
	rest             []byte // of a list: the text with an empty object in place of each item
}

// span is the place of a value in a text. A value that is cut has no end.
type span struct {
	start, end int
	cut        bool
}

// splitJSON splits a stream of JSON objects, and lists into their items. A dump of a large cluster is one list of
// several 100 MB. Its items are slices of the text and not copies. They are checked and decoded in parallel. In
// contrast to json.Decoder, splitJSON also finds the values after a syntax error.
func splitJSON(file string, text []byte) (documents []*document) {
	line := 1
	counted := 0
	add := func(start int, d document) {
		line += bytes.Count(text[counted:start], []byte("\n"))
		counted = start
		d.Source = Source{file, line}
		documents = append(documents, &d)
	}

	for object := range values(text, 0) {
		whole := text[object.start:object.end]
		list := headOf(whole)
		if list.items == nil || object.cut {
			add(object.start, document{text: whole})
			continue
		}

		if !json.Valid(list.rest) {
			add(object.start, document{text: list.rest})
		}
		kind := strings.TrimSuffix(list.kind, "List")
		for _, item := range list.items {
			d := document{text: whole[item.start:item.end], apiVersion: list.apiVersion, kind: kind}
			add(object.start+item.start, d)
		}
	}

	return documents
}

// headOf returns the head of an object, as far as the text has one.
func headOf(text []byte) (h head) {
	if text[0] != '{' {
		return h
	}

	name := ""
	isName := false
	for at := range values(text, 1) {
		value := text[at.start:at.end]
		isName = !isName
		switch {
		case isName:
			name = unquoted(value)
		case name == "apiVersion":
			h.apiVersion = unquoted(value)
		case name == "kind":
			h.kind = unquoted(value)
		case name == "items" && value[0] == '[':
			h.readItems(text, at)
		}

		// kubectl writes these fields first.
		if h.apiVersion != "" && h.kind != "" && !strings.HasSuffix(h.kind, "List") {
			break
		}
	}

	return h
}

// readItems finds the items in an array of a list.
func (h *head) readItems(text []byte, array span) {
	h.items = []span{}
	h.rest = nil
	last := 0
	for item := range values(text[:array.end], array.start+1) {
		h.items = append(h.items, item)

		// The rest keeps the line breaks of the item, so that lines in problems are right.
		h.rest = append(h.rest, text[last:item.start]...)
		h.rest = append(h.rest, "{}"...)
		lines := bytes.Count(text[item.start:item.end], []byte("\n"))
		h.rest = append(h.rest, bytes.Repeat([]byte("\n"), lines)...)
		last = item.end
	}
	h.rest = append(h.rest, text[last:]...)
}

// unquoted returns the content of a string. It returns "" for any other value.
func unquoted(value []byte) (text string) {
	_ = json.Unmarshal(value, &text)
	return text
}

// values yields the values of a text from an offset on: the objects of a stream, the names and values of an object, or
// the elements of an array. It ends at a closing bracket. A value ends where as many brackets are closed as are opened,
// regardless of other errors in it, so that the next values are read.
func values(text []byte, offset int) iter.Seq[span] {
	separators := space
	if offset > 0 {
		separators += ",:"
	}

	return func(yield func(span) bool) {
		for i := offset; i < len(text); {
			if strings.IndexByte(separators, text[i]) >= 0 {
				i++
				continue
			}
			if offset > 0 && (text[i] == '}' || text[i] == ']') {
				return
			}

			at := valueAt(text, i)
			if !yield(at) {
				return
			}
			i = at.end
		}
	}
}

// valueAt returns the value that begins at an offset.
func valueAt(text []byte, start int) span {
	depth := 0
	quoted := false
	for i := start; i < len(text); i++ {
		switch c := text[i]; {
		case quoted:
			if c == '\\' {
				i++
			}
			quoted = c != '"' && c != '\n'
		case depth == 0 && i > start && strings.IndexByte(space+`,:{}[]"`, c) >= 0:
			return span{start: start, end: i} // a word
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case depth == 0:
			continue
		}

		if depth <= 0 && !quoted {
			return span{start: start, end: i + 1}
		}
	}

	return span{start, len(text), depth > 0 || quoted}
}

// syntaxError returns the reason why a text is no JSON object, and the line, counted from 0.
func syntaxError(text []byte) (line int, err error) {
	var value json.RawMessage
	var syntax *json.SyntaxError
	err = json.NewDecoder(bytes.NewReader(text)).Decode(&value)
	switch {
	case err == nil:
		return 0, errNotObject
	case errors.Is(err, io.ErrUnexpectedEOF):
		return 0, errCutShort
	case errors.As(err, &syntax) && syntax.Offset > 0:
		line = bytes.Count(text[:syntax.Offset-1], []byte("\n"))
	}

	return line, err
}
