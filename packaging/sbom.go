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

// writeSBOM writes a component and its dependencies with their licenses, as CycloneDX. The
// dependencies are the modules that the go command recorded. Modules that go.mod requires and the
// program does not contain are left out. It fails for a license that is not allowed.
func writeSBOM(path string, component cdx.Component, dependencies []dependency, created time.Time) error {
	err := checkLicenses(dependencies)
	if err != nil {
		return err
	}

	component.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
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
	bom.Metadata = &cdx.Metadata{Timestamp: created.Format(time.RFC3339), Component: &component}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: component.BOMRef, Dependencies: &direct}}

	to, err := os.Create(path)
	if err != nil {
		return err
	}

	defer to.Close()
	err = cdx.NewBOMEncoder(to, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	if err != nil {
		return err
	}

	return to.Close()
}

// library describes a dependency.
func library(d dependency) (cdx.Component, error) {
	c := cdx.Component{
		BOMRef:     d.url(),
		Type:       cdx.ComponentTypeLibrary,
		Name:       d.path,
		Version:    d.version,
		PackageURL: d.url(),
		Licenses:   &cdx.Licenses{},
	}
	for _, id := range d.licenses {
		*c.Licenses = append(*c.Licenses, cdx.LicenseChoice{License: &cdx.License{ID: id}})
	}
	if d.note != "" {
		c.Pedigree = &cdx.Pedigree{Notes: d.note}
	}

	base, ok := strings.CutPrefix(d.sum, "h1:")
	if ok {
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
