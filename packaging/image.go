package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
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

	// user is the user of Volcano's chart and of deploy/drop-in. With a number, the kubelet
	// can see that it is not root.
	user = "1000:1000"
)

func buildImages(o options) error {
	for _, p := range programs {
		if !o.programs.has(p.name) {
			continue
		}

		built, err := o.build(p, linux)
		if err != nil {
			return err
		}

		img, err := writeImage(o.source, built, filepath.Join(o.output, p.name))
		if err != nil {
			return err
		}
		fmt.Printf("%s  %s\n", img.digest, img.reference())
	}

	return nil
}

// image is a written image.
type image struct {
	program
	versions
	digest       v1.Hash
	dependencies []dependency
}

// tag names both releases, ours and Volcano's, because a release is built with several
// Volcanos.
func (i *image) tag() string {
	return strings.ReplaceAll(i.release, "+", "-") + "-volcano-" + i.volcano
}

func (i *image) reference() string { return registry + "/" + i.name + ":" + i.tag() }

// writeImage writes the image of a program as an OCI layout: an index with one image for
// each platform.
func writeImage(source string, built []binary, directory string) (*image, error) {
	if len(built) == 0 {
		return nil, fmt.Errorf("no platform for the image in %s", directory)
	}

	created, err := timestamp(source)
	if err != nil {
		return nil, err
	}

	roots, err := rootCertificates(source)
	if err != nil {
		return nil, err
	}

	base, err := baseLayer(source, roots, created)
	if err != nil {
		return nil, err
	}

	result := &image{program: built[0].program, versions: built[0].versions, dependencies: roots}
	labels := result.labels(created)
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range built {
		one, err := platformImage(b, base, labels, created)
		if err != nil {
			return nil, err
		}

		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: one, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.os, Architecture: b.arch}},
		})
		result.dependencies = union(result.dependencies, b.dependencies)
	}
	index = mutate.Annotations(index, labels).(v1.ImageIndex)
	result.digest, err = index.Digest()
	if err != nil {
		return nil, err
	}

	err = os.RemoveAll(directory)
	if err != nil {
		return nil, err
	}

	path, err := layout.Write(directory, empty.Index)
	if err != nil {
		return nil, err
	}

	name := map[string]string{"org.opencontainers.image.ref.name": result.reference()}

	return result, path.AppendIndex(index, layout.WithAnnotations(name))
}

// labels returns the labels of the OCI image specification.
func (i *image) labels(created time.Time) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "created":       created.Format(time.RFC3339),
		prefix + "description":   i.description,
		prefix + "documentation": "https://" + repository + "/blob/main/docs/install.md",
		prefix + "licenses":      "Apache-2.0",
		prefix + "revision":      i.commit,
		prefix + "source":        "https://" + repository,
		prefix + "title":         i.name,
		prefix + "url":           "https://" + repository,
		prefix + "vendor":        "capacity-card",
		prefix + "version":       i.release,
	}
}

// platformImage returns the image for one platform: the base, and above it the program with the
// licenses of its modules.
func platformImage(b binary, base v1.Layer, labels map[string]string, created time.Time) (v1.Image, error) {
	programs, err := b.files()
	if err != nil {
		return nil, err
	}

	licenses := file{"licenses/THIRD-PARTY-LICENSES", 0o644, notices(b.dependencies)}
	programLayer, err := layerOf(created, append([]file{licenses}, programs...)...)
	if err != nil {
		return nil, err
	}

	manifest := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	configured, err := mutate.ConfigFile(mutate.ConfigMediaType(manifest, types.OCIConfigJSON), &v1.ConfigFile{
		Created:      v1.Time{Time: created},
		OS:           b.os,
		Architecture: b.arch,
		RootFS:       v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User:       user,
			Entrypoint: []string{"/" + b.name},
			Env:        []string{"PATH=/"},
			WorkingDir: "/",
			Labels:     labels,
		},
	})
	if err != nil {
		return nil, err
	}

	history := func(by string) v1.History { return v1.History{Created: v1.Time{Time: created}, CreatedBy: by} }
	return mutate.Append(configured,
		mutate.Addendum{Layer: base, History: history("directories, users and root certificates")},
		mutate.Addendum{Layer: programLayer, History: history("go build ./cmd/" + b.name)})
}

// rootCertificates returns the module with Mozilla's root certificates. The certificates are part of its
// version, so they do not depend on this machine.
func rootCertificates(source string) ([]dependency, error) {
	this, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, fmt.Errorf("packaging is built without modules")
	}

	const fallback = "golang.org/x/crypto/x509roots/fallback"
	at := slices.IndexFunc(this.Deps, func(m *debug.Module) bool { return m.Path == fallback })

	return locate(source, this.Deps[at])
}

// baseLayer returns the files that a static program expects. The scheduler writes the
// checked configuration to /tmp.
func baseLayer(source string, roots []dependency, created time.Time) (v1.Layer, error) {
	license, err := os.ReadFile(filepath.Join(source, "LICENSE"))
	if err != nil {
		return nil, err
	}

	var certificates []byte
	for root := range bundle.Roots() {
		// A file of certificates cannot express the constraint of a root that is distrusted
		// from a date on.
		if root.Constraint == nil {
			block := &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}
			certificates = append(certificates, pem.EncodeToMemory(block)...)
		}
	}

	const (
		group  = "root:x:0:\ncapacity-card:x:1000:\n"
		passwd = "root:x:0:0:root:/:/sbin/nologin\ncapacity-card:x:1000:1000:capacity-card:/:/sbin/nologin\n"
	)
	return layerOf(created,
		file{"etc/", 0o755, nil},
		file{"etc/group", 0o644, []byte(group)},
		file{"etc/passwd", 0o644, []byte(passwd)},
		file{"etc/ssl/", 0o755, nil},
		file{"etc/ssl/certs/", 0o755, nil},
		file{"etc/ssl/certs/ca-certificates.crt", 0o644, certificates},
		file{"licenses/", 0o755, nil},
		file{"licenses/LICENSE", 0o644, license},
		file{"licenses/ROOT-CERTIFICATES", 0o644, notices(roots)},
		file{"tmp/", 0o1777, nil},
	)
}

// layerOf is a layer of files that belong to root.
func layerOf(created time.Time, files ...file) (v1.Layer, error) {
	opener := func() (io.ReadCloser, error) {
		reader, writer := io.Pipe()
		go func() { writer.CloseWithError(writeTar(writer, created, files)) }()
		return reader, nil
	}

	return tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}
