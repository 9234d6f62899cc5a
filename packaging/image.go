package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	repository = "github.com/capacity-card/capacity-card"
	registry   = "ghcr.io/capacity-card" // where a release pushes the images to

	// user is that of Volcano's chart and of deploy/drop-in. A number lets the kubelet
	// see that it is not root.
	user = "1000:1000"
)

func defineImage(flags *flag.FlagSet) func() error {
	source := flags.String("source", ".", "the `directory` of the repository")
	output := flags.String("o", "bin/images", "the `directory` of the OCI layouts, one for each program")
	binaries := flags.String("binaries", "bin/binaries", "the `directory` of the programs")
	names := flags.String("programs", "vc-scheduler,cardctl", "the programs")
	on := flags.String("platforms", "linux/amd64,linux/arm64", "the platforms")
	return func() error {
		for _, p := range programs {
			if !slices.Contains(strings.Split(*names, ","), p.name) {
				continue
			}
			var built []binary
			for _, each := range linux {
				if !slices.Contains(strings.Split(*on, ","), each.String()) {
					continue
				}
				b, err := build(*source, p, each, *binaries)
				if err != nil {
					return err
				}
				built = append(built, b)
			}
			img, err := writeImage(*source, built, filepath.Join(*output, p.name))
			if err != nil {
				return err
			}
			fmt.Printf("%s  %s\n", img.digest, img.reference())
		}
		return nil
	}
}

// image is an image that was written.
type image struct {
	program
	versions
	digest v1.Hash
}

// tag names both releases, ours and Volcano's, because a release is built with several
// Volcanos.
func (i image) tag() string {
	return strings.ReplaceAll(i.release, "+", "-") + "-volcano-" + i.volcano
}

func (i image) reference() string { return registry + "/" + i.name + ":" + i.tag() }

// writeImage writes the image of a program as an OCI layout: an index with one image for
// each platform.
func writeImage(source string, built []binary, directory string) (image, error) {
	if len(built) == 0 {
		return image{}, fmt.Errorf("no platform for the image in %s", directory)
	}
	made, err := versionsOf(built[0].path)
	if err != nil {
		return image{}, err
	}
	created, err := timestamp(source)
	if err != nil {
		return image{}, err
	}
	license, err := os.ReadFile(filepath.Join(source, "LICENSE"))
	if err != nil {
		return image{}, err
	}
	base, err := baseLayer(license, created)
	if err != nil {
		return image{}, err
	}
	result := image{program: built[0].program, versions: made}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range built {
		one, err := platformImage(source, b, base, result.labels(created), created)
		if err != nil {
			return image{}, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: one, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.os, Architecture: b.arch}},
		})
	}
	index = mutate.Annotations(index, result.labels(created)).(v1.ImageIndex)
	if result.digest, err = index.Digest(); err != nil {
		return image{}, err
	}
	if err := os.RemoveAll(directory); err != nil {
		return image{}, err
	}
	path, err := layout.Write(directory, empty.Index)
	if err != nil {
		return image{}, err
	}
	return result, path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": result.reference()}))
}

// labels are those of the OCI image specification.
func (i image) labels(created time.Time) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "created":       created.Format(time.RFC3339),
		prefix + "description":   i.description,
		prefix + "documentation": "https://" + repository + "/blob/main/docs/deploy.md",
		prefix + "licenses":      "Apache-2.0",
		prefix + "revision":      i.commit,
		prefix + "source":        "https://" + repository,
		prefix + "title":         i.name,
		prefix + "url":           "https://" + repository,
		prefix + "vendor":        "capacity-card",
		prefix + "version":       i.release,
	}
}

// platformImage is the image for one platform: the base, and above it the program with the
// licenses of its modules.
func platformImage(source string, b binary, base v1.Layer, labels map[string]string, created time.Time) (v1.Image, error) {
	dependencies, err := dependenciesOf(source, b.path)
	if err != nil {
		return nil, err
	}
	notices, err := texts(dependencies)
	if err != nil {
		return nil, err
	}
	programLayer, err := tarLayer(created,
		file{name: "licenses/THIRD-PARTY-LICENSES", mode: 0o644, text: notices},
		file{name: b.name, mode: 0o755, path: b.path})
	if err != nil {
		return nil, err
	}
	layered, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		mutate.Addendum{Layer: base, History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "directories, users and root certificates"}},
		mutate.Addendum{Layer: programLayer, History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "go build ./cmd/" + b.name}})
	if err != nil {
		return nil, err
	}
	config, err := layered.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Created, config.OS, config.Architecture = v1.Time{Time: created}, b.os, b.arch
	config.Config = v1.Config{User: user, Entrypoint: []string{"/" + b.name}, Env: []string{"PATH=/"}, WorkingDir: "/", Labels: labels}
	return mutate.ConfigFile(layered, config)
}

// baseLayer has what a static program expects of a file system. The scheduler writes the
// checked configuration to /tmp. The root certificates are Mozilla's, in the version of the
// module x509roots, so that they do not depend on this machine.
func baseLayer(license []byte, created time.Time) (v1.Layer, error) {
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		// A file of certificates cannot have the constraint of a root that is distrusted
		// from a date on.
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return tarLayer(created,
		file{name: "etc/", mode: 0o755},
		file{name: "etc/group", mode: 0o644, text: "root:x:0:\ncapacity-card:x:1000:\n"},
		file{name: "etc/passwd", mode: 0o644, text: "root:x:0:0:root:/:/sbin/nologin\ncapacity-card:x:1000:1000:capacity-card:/:/sbin/nologin\n"},
		file{name: "etc/ssl/", mode: 0o755},
		file{name: "etc/ssl/certs/", mode: 0o755},
		file{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, text: roots.String()},
		file{name: "licenses/", mode: 0o755},
		file{name: "licenses/LICENSE", mode: 0o644, text: string(license)},
		file{name: "tmp/", mode: 0o1777},
	)
}

// file is a file of an archive, or a directory if its name ends with a slash. Its content
// is text, or that of the file at path.
type file struct {
	name string
	mode int64
	text string
	path string
}

func (f file) open() (io.ReadCloser, int64, error) {
	if f.path == "" {
		return io.NopCloser(strings.NewReader(f.text)), int64(len(f.text)), nil
	}
	content, err := os.Open(f.path)
	if err != nil {
		return nil, 0, err
	}
	status, err := content.Stat()
	if err != nil {
		return nil, 0, err
	}
	return content, status.Size(), nil
}

// tarLayer is a layer of files that belong to root.
func tarLayer(created time.Time, files ...file) (v1.Layer, error) {
	opener := func() (io.ReadCloser, error) {
		reader, writer := io.Pipe()
		go func() { writer.CloseWithError(writeTar(writer, created, files)) }()
		return reader, nil
	}
	return tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// writeTar writes files in their order, all with one time and without the owner that they
// have here.
func writeTar(to io.Writer, created time.Time, files []file) error {
	archive := tar.NewWriter(to)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, ModTime: created, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if strings.HasSuffix(f.name, "/") {
			header.Typeflag = tar.TypeDir
			if err := archive.WriteHeader(header); err != nil {
				return err
			}
			continue
		}
		content, size, err := f.open()
		if err != nil {
			return err
		}
		header.Size = size
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = io.Copy(archive, content)
		content.Close()
		if err != nil {
			return err
		}
	}
	return archive.Close()
}
