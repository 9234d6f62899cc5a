package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"text/scanner"
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
	items            []piece // of a list; nil if the object has no array of items
}

// decides reports whether the head of an object that is not a list is complete.
func (h head) decides() bool {
	return h.apiVersion != "" && h.kind != "" && !strings.HasSuffix(h.kind, "List")
}

// piece is a value within a text.
type piece struct {
	start int
	text  []byte
	err   error // why the value cannot be read: its syntax, errCutShort or errNotObject
}

// stream reads the heads of the JSON objects in a text. A dump of a large cluster is
// one list of several 100 MB. Its items are slices of the text and not copies, and
// are decoded in parallel.
type stream struct {
	text    []byte
	decoder *json.Decoder
	base    int             // offset in text of the first byte of the decoder's input
	value   json.RawMessage // the last value, in a buffer that is used again
}

func newStream(text []byte) *stream {
	s := &stream{text: text}
	s.restart(0, "")
	return s
}

// restart continues at an offset, with a decoder that has read prefix.
func (s *stream) restart(offset int, prefix string) {
	var input io.Reader = bytes.NewReader(s.text[offset:])
	if prefix != "" {
		input = io.MultiReader(strings.NewReader(prefix), input)
	}
	s.decoder = json.NewDecoder(input)
	s.base = offset - len(prefix)
}

func (s *stream) offset() int { return s.base + int(s.decoder.InputOffset()) }

// next reads an object; ok is false after the last one. An object that cannot be read
// ends at its closing bracket, or at the end of the text if that is missing.
func (s *stream) next() (object piece, h head, ok bool) {
	if len(bytes.TrimLeft(s.text[s.offset():], space)) == 0 {
		return piece{}, head{}, false
	}
	s.decoder.More() // moves to the first byte of the object
	start := s.offset()
	h, err := s.head(true)
	switch {
	case isCutShort(err):
		s.restart(len(s.text), "")
		err = errCutShort
	case err != nil:
		s.restart(endOf(s.text, start), "")
	}
	return piece{start, s.text[start:s.offset()], err}, h, true
}

func isCutShort(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// head reads an object. Unless it reads the whole object, it stops when it has the
// fields that decide, which are the first ones in what kubectl writes.
func (s *stream) head(whole bool) (h head, err error) {
	token, err := s.decoder.Token()
	if err != nil {
		return h, err
	}
	if token != json.Delim('{') {
		return h, errNotObject
	}
	for s.decoder.More() {
		name, err := s.decoder.Token()
		if err != nil {
			return h, err
		}
		switch first := s.peek(); {
		case name == "items" && first == '[':
			h.items, err = s.items()
		case name == "apiVersion" && first == '"':
			h.apiVersion, err = s.stringValue()
		case name == "kind" && first == '"':
			h.kind, err = s.stringValue()
		default:
			err = s.decoder.Decode(&s.value)
		}
		if err != nil || !whole && h.decides() {
			return h, err
		}
	}
	_, err = s.decoder.Token()
	return h, err
}

// peek returns the first byte of the value of a field, 0 at the end of the text.
func (s *stream) peek() byte {
	if rest := bytes.TrimLeft(s.text[s.offset():], ":"+space); len(rest) > 0 {
		return rest[0]
	}
	return 0
}

func (s *stream) stringValue() (string, error) {
	token, err := s.decoder.Token()
	text, _ := token.(string)
	return text, err
}

// items reads the array of the field "items". An item that cannot be read ends at its
// closing bracket, so that the items after it are read.
func (s *stream) items() ([]piece, error) {
	if _, err := s.decoder.Token(); err != nil {
		return nil, err
	}
	items := []piece{}
	for s.decoder.More() {
		err := s.decoder.Decode(&s.value)
		switch end := s.offset(); {
		case err == nil:
			start := end - len(s.value)
			items = append(items, piece{start: start, text: s.text[start:end]})
		case isCutShort(err):
			return nil, err
		default:
			start := len(s.text) - len(bytes.TrimLeft(s.text[end:], ","+space))
			end = endOf(s.text, start)
			items = append(items, piece{start, s.text[start:end], err})
			if err := s.restartItems(end); err != nil {
				return nil, err
			}
		}
	}
	_, err := s.decoder.Token()
	return items, err
}

// restartItems continues within the array of the field "items".
func (s *stream) restartItems(offset int) error {
	const prefix = `{"items":[0`
	s.restart(offset, prefix)
	for range []string{"{", `"items"`, "[", "0"} {
		if _, err := s.decoder.Token(); err != nil {
			return err
		}
	}
	return nil
}

// endOf returns the end of the value at start, which has a syntax error: where as
// many brackets are closed as are opened. It serves the error message and the values
// after this one, so a value is a sequence of tokens here and nothing more.
func endOf(text []byte, start int) int {
	var tokens scanner.Scanner
	tokens.Init(bytes.NewReader(text[start:]))
	tokens.Mode = scanner.ScanIdents | scanner.ScanFloats | scanner.ScanStrings
	tokens.Error = func(*scanner.Scanner, string) {}
	for depth := 0; ; {
		switch tokens.Scan() {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case scanner.EOF:
			return len(text)
		}
		if depth <= 0 {
			return start + tokens.Pos().Offset
		}
	}
}
