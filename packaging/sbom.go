package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func defineSBOM(flags *flag.FlagSet) func() error {
	source := flags.String("source", ".", "the `directory` of the repository")
	of := flags.String("binary", "", "the `path` of the program")
	return func() error {
		created, err := timestamp(*source)
		if err != nil {
			return err
		}
		return writeSBOM(os.Stdout, *source, *of, created)
	}
}

// writeSBOM writes the dependencies of a program with their licenses, as CycloneDX. The modules
// are those that the go command recorded in the program: what go.mod requires and the program
// does not have is not among them.
func writeSBOM(to io.Writer, source, path string, created time.Time) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	dependencies, err := dependenciesOf(source, path)
	if err != nil {
		return err
	}
	made, err := versionsOf(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	_, name, _ := strings.Cut(info.Path, info.Main.Path+"/cmd/")
	main := cdx.Component{
		BOMRef: "program", Type: cdx.ComponentTypeApplication, Name: name, Version: made.release,
		PackageURL: "pkg:golang/" + info.Main.Path + "@" + made.release + "#cmd/" + name,
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Licenses:   &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
	}
	var components []cdx.Component
	for _, d := range dependencies {
		c := library(d)
		if base, ok := strings.CutPrefix(d.sum, "h1:"); ok {
			hash, err := base64.StdEncoding.DecodeString(base)
			if err != nil {
				return fmt.Errorf("the sum of %s: %w", d.path, err)
			}
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(hash)}}
		}
		components = append(components, c)
	}
	direct := make([]string, 0, len(components))
	for _, c := range components {
		direct = append(direct, c.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: created.Format(time.RFC3339), Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &direct}}
	return cdx.NewBOMEncoder(to, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
}

func library(d dependency) cdx.Component {
	choices := cdx.Licenses{}
	for _, id := range d.licenses {
		choices = append(choices, cdx.LicenseChoice{License: &cdx.License{ID: id}})
	}
	return cdx.Component{BOMRef: d.url(), Type: cdx.ComponentTypeLibrary, Name: d.path, Version: d.version, PackageURL: d.url(), Licenses: &choices}
}
