package input

import (
	"bytes"
	"errors"
	"strconv"
)

// A dump of a large cluster is one JSON list of several 100 MB. To split it into
// its items takes no parser, only the knowledge of where a value ends; the items
// are then parsed in parallel. What follows takes well-formed JSON for granted:
// what is not comes out as a piece that the parser refuses.

var (
	errCutShort  = errors.New("the JSON ends in the middle of an object")
	errNotObject = errors.New("not a Kubernetes object")
)

// head is what is needed of an object before it is parsed.
type head struct {
	apiVersion, kind string
	items            [][]byte // of a list
}

// readHead looks at the fields of the object in text.
func readHead(text []byte) (head, error) {
	var h head
	err := eachField(text, func(name string, value []byte) error {
		switch name {
		case "apiVersion":
			h.apiVersion, _ = strconv.Unquote(string(value))
		case "kind":
			h.kind, _ = strconv.Unquote(string(value))
		case "items":
			var err error
			h.items, err = split(value)
			return err
		}
		return nil
	})
	return h, err
}

// eachField calls do with the fields of an object.
func eachField(text []byte, do func(name string, value []byte) error) error {
	i := space(text, 0)
	if i >= len(text) || text[i] != '{' {
		return errNotObject
	}
	for i = space(text, i+1); i < len(text) && text[i] != '}'; {
		end, err := skip(text, i)
		if err != nil {
			return err
		}
		name, _ := strconv.Unquote(string(text[i:end]))
		if i = space(text, end); i >= len(text) || text[i] != ':' {
			return errCutShort
		}
		i = space(text, i+1)
		if end, err = skip(text, i); err != nil {
			return err
		}
		if err := do(name, text[i:end]); err != nil {
			return err
		}
		if i = space(text, end); i < len(text) && text[i] == ',' {
			i = space(text, i+1)
		}
	}
	if i >= len(text) {
		return errCutShort
	}
	return nil
}

// split returns the values of an array, nil for what is none.
func split(text []byte) (values [][]byte, err error) {
	if len(text) == 0 || text[0] != '[' {
		return nil, nil
	}
	values = [][]byte{}
	for i := space(text, 1); i < len(text) && text[i] != ']'; {
		end, err := skip(text, i)
		if err != nil {
			return nil, err
		}
		values = append(values, text[i:end])
		if i = space(text, end); i < len(text) && text[i] == ',' {
			i = space(text, i+1)
		}
	}
	return values, nil
}

func space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
		i++
	}
	return i
}

// skip returns where the value that begins at i ends.
func skip(text []byte, i int) (end int, err error) {
	depth := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '"':
			if i = closing(text, i); i < 0 {
				return 0, errCutShort
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 {
				continue
			}
			// A number or a word; what separates it ends it.
			n := bytes.IndexAny(text[i:], ",:}] \t\r\n")
			switch {
			case n < 0:
				return len(text), nil
			case n == 0:
				return 0, errNotObject
			}
			return i + n, nil
		}
		if depth <= 0 {
			return i + 1, nil
		}
	}
	return 0, errCutShort
}

// closing returns where the string that begins at i has its closing quote, -1 if
// it has none.
func closing(text []byte, i int) int {
	for i++; i < len(text); i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slashes := 0
		for text[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
	return -1
}
