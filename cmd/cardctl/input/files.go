package input

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"
)

// MostBytes bounds the size of a file, uncompressed. A dump of 100,000 pods by kubectl has less than half of it.
const MostBytes = 768 << 20

// ErrTooLarge is the error for files of more than MostBytes.
var ErrTooLarge = errors.New("the file is too large")

// Progress reports how many units of the work are done.
type Progress func(what string, done, all int)

// extensions are the extensions of the files that are read in a directory, as in kubectl. compressed may follow.
var extensions = []string{".json", ".yaml", ".yml"}

const compressed = ".gz"

// ReadFiles reads files, all files of directories, and standard input for "-". They can be compressed with gzip.
// ReadFiles fails for files that cannot be opened. Documents that cannot be decoded are Problems of the result.
func ReadFiles(paths []string, recursive bool, stdin io.Reader, progress Progress) (*Objects, error) {
	objects := New()
	var files []string
	for _, path := range paths {
		found, err := expand(path, recursive)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}

	for _, file := range files {
		text, err := readFile(file, stdin)
		if err != nil {
			return nil, err
		}

		if file == "-" {
			file = "stdin"
		}
		objects.decode(split(file, text), progress)
	}
	objects.replaceWorkloads()

	return objects, nil
}

// Parse reads the documents of a text that a user pastes. name stands for the file in problems. A text that would
// become too large has one problem and no objects.
func Parse(name string, text []byte) *Objects {
	objects := New()
	documents := split(name, text)
	if problem := weigh(documents); problem != nil {
		objects.Problems = append(objects.Problems, *problem)
		return objects
	}

	objects.decode(documents, nil)
	objects.replaceWorkloads()

	return objects
}

// expand returns the files of a path.
func expand(path string, recursive bool) (files []string, err error) {
	if path == "-" {
		return []string{path}, nil
	}

	status, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !status.IsDir() {
		return []string{path}, nil
	}

	err = filepath.WalkDir(path, func(name string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != path && !recursive:
			return filepath.SkipDir
		case !entry.IsDir() && slices.Contains(extensions, filepath.Ext(strings.TrimSuffix(name, compressed))):
			files = append(files, name)
		}
		return nil
	})

	return files, err
}

// readFile reads a file, or stdin for "-", and decompresses it.
func readFile(path string, stdin io.Reader) ([]byte, error) {
	from := stdin
	size := int64(0)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()

		status, err := file.Stat()
		if err == nil && status.Mode().IsRegular() {
			size = status.Size()
		}
		from = file
	}

	text, err := readAll(path, from, size)
	if err != nil || !bytes.HasPrefix(text, gzipMagic) {
		return text, err
	}

	unzipped, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return readAll(path, unzipped, 0)
}

// gzipMagic begins a gzip file.
var gzipMagic = []byte{0x1f, 0x8b}

// readAll reads a text of at most MostBytes. size is the size of the text, 0 if it is not known.
func readAll(path string, from io.Reader, size int64) ([]byte, error) {
	var text bytes.Buffer
	if size <= MostBytes {
		text.Grow(int(size) + bytes.MinRead)
		if _, err := text.ReadFrom(io.LimitReader(from, MostBytes+1)); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
	}
	if max(size, int64(text.Len())) > MostBytes {
		const advice = "dump nodes, queues, podgroups and pods alone, without managedFields"
		return nil, fmt.Errorf("%s: %w: at most %d MiB are read; %s", path, ErrTooLarge, MostBytes>>20, advice)
	}

	return text.Bytes(), nil
}

// split returns the documents of a file.
func split(file string, text []byte) []*document {
	start := bytes.TrimLeft(text, space)
	if len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		return splitJSON(file, text)
	}
	return splitYAML(file, text)
}

// inParallel does pieces of work on workers and reports how many are done. A worker takes several pieces in a row.
func inParallel(what string, workers, row, pieces int, progress Progress, do func(i int)) {
	var done atomic.Int64
	workqueue.ParallelizeUntil(context.Background(), workers, pieces, func(i int) {
		do(i)
		if n := int(done.Add(1)); progress != nil {
			progress(what, n, pieces)
		}
	}, workqueue.WithChunkSize(row))
}

// decode adds the objects of documents, several at a time.
func (o *Objects) decode(documents []*document, progress Progress) {
	inParallel("documents", runtime.GOMAXPROCS(0), 64, len(documents), progress, func(i int) { documents[i].decode() })

	for _, d := range documents {
		for _, f := range d.found {
			switch {
			case f.problem != nil:
				o.Problems = append(o.Problems, *f.problem)
			case f.skipped != "":
				o.skipped[f.skipped]++
			case f.at == nil:
				o.add(f.object, Source{d.File, f.line})
				o.Newer = append(o.Newer, f.unknown...)
			default:
				o.add(f.object, Source{d.File, f.line})
				o.Unknown = append(o.Unknown, f.unknown...)
				o.Invalid = append(o.Invalid, f.invalid...)
				o.positions[f.object] = f.at
			}
		}
	}
}

// splitYAML splits a file at the lines that begin with "---". A document begins with its first line that is neither
// blank nor a comment.
func splitYAML(file string, text []byte) (documents []*document) {
	d := &document{Source: Source{file, 1}, yaml: true}
	line := 0
	start := 0
	end := 0
	for row := range bytes.Lines(text) {
		line++
		end += len(row)
		after, ends := bytes.CutPrefix(row, []byte("---"))
		content := bytes.TrimSpace(row)
		switch {
		case ends && (len(content) == len("---") || after[0] == ' ' || after[0] == '\t'):
			documents = append(documents, d)
			d = &document{Source: Source{file, line + 1}, yaml: true}
			start = end
		case len(d.text) == 0 && (len(content) == 0 || content[0] == '#'):
			d.Line = line + 1
			start = end
		default:
			d.text = text[start:end]
		}
	}

	return append(documents, d)
}
