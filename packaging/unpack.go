package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

func defineUnpack(flags *flag.FlagSet) func() error {
	from := flags.String("layout", "", "the `directory` of an OCI layout that packaging image wrote")
	on := flags.String("platform", "linux/amd64", "the platform")
	to := flags.String("o", "", "the `directory` to write to")
	return func() error {
		found, err := findImage(*from, *on)
		if err != nil {
			return err
		}
		files := mutate.Extract(found)
		defer files.Close()
		if err := extract(files, *to); err != nil {
			return err
		}
		config, err := found.ConfigFile()
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(config)
	}
}

// findImage returns the image for a platform.
func findImage(directory, on string) (v1.Image, error) {
	whole, err := layout.ImageIndexFromPath(directory)
	if err != nil {
		return nil, err
	}
	entries, err := whole.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(entries.Manifests) != 1 {
		return nil, fmt.Errorf("%s has %d images instead of one", directory, len(entries.Manifests))
	}
	index, err := whole.ImageIndex(entries.Manifests[0].Digest)
	if err != nil {
		return nil, err
	}
	platforms, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, entry := range platforms.Manifests {
		if entry.Platform.OS+"/"+entry.Platform.Architecture == on {
			return index.Image(entry.Digest)
		}
	}
	return nil, fmt.Errorf("%s has no image for %s", directory, on)
}

// extract writes the files of an archive with the modes that it gives them.
func extract(from io.Reader, directory string) error {
	archive := tar.NewReader(from)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(header.Name) {
			return fmt.Errorf("the image has a file outside of its root: %s", header.Name)
		}
		path := filepath.Join(directory, header.Name)
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = extractFile(archive, path)
		}
		if err != nil {
			return err
		}
		// Not subject to the umask.
		if err := os.Chmod(path, header.FileInfo().Mode()); err != nil {
			return err
		}
	}
}

func extractFile(content io.Reader, path string) error {
	// The upper layers come first, and may be without the directories of the lower ones.
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, content); err != nil {
		return errors.Join(err, to.Close())
	}
	return to.Close()
}
