package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
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

// tarOf returns an archive of files in their order, all with one time and without the owner
// that they have here.
func tarOf(created time.Time, files []file) ([]byte, error) {
	var text bytes.Buffer
	archive := tar.NewWriter(&text)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: created, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := archive.Close() // which writes the end
	return text.Bytes(), err
}

// writeTarGz writes a compressed archive of files.
func writeTarGz(path string, created time.Time, files []file) error {
	archive, err := tarOf(created, files)
	if err != nil {
		return err
	}
	var compressed bytes.Buffer
	to := gzip.NewWriter(&compressed)
	if _, err := to.Write(archive); err != nil {
		return err
	}
	if err := to.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, compressed.Bytes(), 0o644)
}
