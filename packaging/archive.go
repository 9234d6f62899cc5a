package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// file is a file of an archive, or a directory if its name ends with a slash.
type file struct {
	name    string
	mode    int64
	content []byte
}

// filesIn returns the files below a directory in order, their names relative to parent.
func filesIn(directory, parent string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}

		name, err := filepath.Rel(parent, path)
		if err != nil {
			return err
		}

		content, err := os.ReadFile(path)
		files = append(files, file{filepath.ToSlash(name), 0o644, content})
		return err
	})
	return files, err
}

// writeTar writes files in their order. All have one time, and none has an owner.
func writeTar(to io.Writer, created time.Time, files []file) error {
	archive := tar.NewWriter(to)
	for _, f := range files {
		err := archive.WriteHeader(&tar.Header{
			Name:    f.name,
			Mode:    f.mode,
			Size:    int64(len(f.content)),
			ModTime: created,
			Format:  tar.FormatUSTAR,
		})
		if err != nil {
			return err
		}

		_, err = archive.Write(f.content)
		if err != nil {
			return err
		}
	}

	return archive.Close()
}

// writeArchive writes an archive of files. It is compressed unless its name ends with .tar.
func writeArchive(path string, created time.Time, files []file) error {
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	if filepath.Ext(path) == ".tar" {
		return errors.Join(writeTar(to, created, files), to.Close())
	}

	compressed := gzip.NewWriter(to)
	return errors.Join(writeTar(compressed, created, files), compressed.Close(), to.Close())
}
