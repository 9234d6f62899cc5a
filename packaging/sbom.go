package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes a program or an image and its dependencies with their licenses, as
// CycloneDX. The modules are those that the go command recorded: what go.mod requires and a
// program does not have is not among them. Nothing with a license that is not allowed has an
// SBOM.
func writeSBOM(path string, of cdx.Component, dependencies []dependency, created time.Time) error {
	if err := checkLicenses(dependencies); err != nil {
		return err
	}
	of.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	var components []cdx.Component
	var direct []string
	for _, d := range dependencies {
		c, err := library(d)
		if err != nil {
			return err
		}
		components = append(components, c)
		direct = append(direct, c.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: created.Format(time.RFC3339), Component: &of}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: of.BOMRef, Dependencies: &direct}}
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := cdx.NewBOMEncoder(to, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return err
	}
	return to.Close()
}

func library(d dependency) (cdx.Component, error) {
	c := cdx.Component{BOMRef: d.url(), Type: cdx.ComponentTypeLibrary, Name: d.path, Version: d.version,
		PackageURL: d.url(), Licenses: &cdx.Licenses{}}
	for _, id := range d.licenses {
		*c.Licenses = append(*c.Licenses, cdx.LicenseChoice{License: &cdx.License{ID: id}})
	}
	if d.note != "" {
		c.Pedigree = &cdx.Pedigree{Notes: d.note}
	}
	if base, ok := strings.CutPrefix(d.sum, "h1:"); ok {
		sum, err := base64.StdEncoding.DecodeString(base)
		if err != nil {
			return c, fmt.Errorf("the sum of %s: %w", d.path, err)
		}
		c.Hashes = sha256Of(hex.EncodeToString(sum))
	}
	return c, nil
}

func sha256Of(sum string) *[]cdx.Hash {
	return &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}
}
