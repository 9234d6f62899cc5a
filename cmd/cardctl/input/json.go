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
	rest             []byte // of a list: its text with an empty object in place of each item
}

// span is where a value is in a text. A value that is cut has no end.
type span struct {
	start, end int
	cut        bool
}

// splitJSON splits a stream of JSON objects, and lists into their items. A dump of a large cluster
// is one list of several 100 MB. Its items are slices of the text and not copies, and are checked
// and decoded in parallel.
func splitJSON(file string, text []byte) (documents []*document) {
	line, counted := 1, 0
	add := func(at span, d document) {
		line += bytes.Count(text[counted:at.start], []byte("\n"))
		counted = at.start
		d.Source = Source{file, line}
		documents = append(documents, &d)
	}
	for object := range values(text, 0) {
		whole := text[object.start:object.end]
		list := headOf(whole)
		if list.items == nil || object.cut {
			add(object, document{text: whole})
			continue
		}
		if !json.Valid(list.rest) {
			add(object, document{text: list.rest})
		}
		for _, item := range list.items {
			d := document{text: whole[item.start:item.end], item: true, apiVersion: list.apiVersion, kind: strings.TrimSuffix(list.kind, "List")}
			add(span{start: object.start + item.start}, d)
		}
	}
	return documents
}

// headOf returns the head of an object, as far as the text has one.
func headOf(text []byte) (h head) {
	if text[0] != '{' {
		return h
	}
	name, named := "", false
	for at := range values(text, 1) {
		value := text[at.start:at.end]
		named = !named
		switch {
		case named:
			name = unquoted(value)
		case name == "apiVersion":
			h.apiVersion = unquoted(value)
		case name == "kind":
			h.kind = unquoted(value)
		case name == "items" && value[0] == '[':
			h.items, h.rest = []span{}, append(h.rest[:0], text[:at.start]...)
			last := at.start
			for item := range values(text[:at.end], at.start+1) {
				h.items = append(h.items, item)
				h.rest = append(append(h.rest, text[last:item.start]...), "{}"...)
				h.rest = append(h.rest, bytes.Repeat([]byte("\n"), bytes.Count(text[item.start:item.end], []byte("\n")))...)
				last = item.end
			}
			h.rest = append(h.rest, text[last:]...)
		}
		if h.apiVersion != "" && h.kind != "" && !strings.HasSuffix(h.kind, "List") {
			break // these are the first fields in what kubectl writes
		}
	}
	return h
}

// unquoted returns the content of a string, "" if the value is none.
func unquoted(value []byte) (text string) {
	_ = json.Unmarshal(value, &text)
	return text
}

// values yields the values of a text from an offset on: the objects of a stream, the names and
// values of an object, or the elements of an array. It ends at a bracket that closes. A value
// ends where as many brackets are closed as are opened, whatever else is wrong with it, so that
// the values after it are read.
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
	depth, quoted := 0, false
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

// syntaxError returns why a text is no JSON object, and in which line, from 0. That of an object in
// a stream is the error of a decoder that reads one field after the other.
func syntaxError(text []byte, item bool) (line int, err error) {
	var value json.RawMessage
	var syntax *json.SyntaxError
	err = json.Unmarshal(text, &value)
	if errors.As(err, &syntax) && syntax.Offset > 0 {
		line = bytes.Count(text[:syntax.Offset-1], []byte("\n"))
	}
	if err == nil {
		return 0, errNotObject
	}
	if item {
		return line, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	token, err := decoder.Token()
	if err == nil && token != json.Delim('{') {
		return 0, errNotObject
	}
	for err == nil && decoder.More() {
		_, err = decoder.Token()
		if err == nil {
			err = decoder.Decode(&value)
		}
	}
	if err == nil {
		_, err = decoder.Token()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, errCutShort
	}
	return line, err
}
