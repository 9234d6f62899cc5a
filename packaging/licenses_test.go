package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLicenses reads the license file of a module and decides on it.
func TestLicenses(t *testing.T) {
	const mpl = "This Source Code Form is subject to the terms of the Mozilla Public License, v. 2.0. " +
		"If a copy of the MPL was not distributed with this file, You can obtain one at http://mozilla.org/MPL/2.0/.\n"
	const gpl = "This program is free software: you can redistribute it and/or modify it under the terms of the GNU " +
		"General Public License as published by the Free Software Foundation, either version 3 of the License, or " +
		"(at your option) any later version.\n"
	const docs = mpl + "Documentation: https://creativecommons.org/licenses/by/4.0/legalcode\n"
	const module, sdk = "example.com/m", "github.com/modelcontextprotocol/go-sdk"
	for name, test := range map[string]struct{ path, file, text, problem string }{
		"Allowed":       {module, "LICENSE", mpl, ""},
		"NotAllowed":    {module, "COPYING", gpl, "example.com/m v1.0.0 has the license GPL-3.0-or-later, which is not among the allowed ones"},
		"Unknown":       {module, "LICENSE", "Ask me.\n", "example.com/m v1.0.0 has no license that is known"},
		"NoFile":        {module, "README.md", mpl, "example.com/m v1.0.0 has no license that is known"},
		"Documentation": {sdk, "LICENSE", docs, ""},
		"NotKnownToBe":  {module, "LICENSE", docs, "example.com/m v1.0.0 has the license CC-BY-4.0, which is not among the allowed ones"},
	} {
		t.Run(name, func(t *testing.T) {
			d := dependency{kind: "golang", path: test.path, version: "v1.0.0", directory: t.TempDir()}
			require.NoError(t, os.WriteFile(filepath.Join(d.directory, test.file), []byte(test.text), 0o600))
			require.NoError(t, d.readLicenses())
			err := checkLicenses([]dependency{d})
			if test.problem == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.problem)
			}
		})
	}
}

// TestReplacedModule has a module with its files in a directory. The module does not have the required version.
func TestReplacedModule(t *testing.T) {
	source := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(source, "m"), 0o700))
	m := &debug.Module{Path: "example.com/m", Version: "v1.0.0", Replace: &debug.Module{Path: filepath.Join(source, "m"), Version: "(devel)"}}
	all, err := locate(t.TempDir(), m)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(source, "m"), all[0].directory)
	m.Replace.Path = "./m"
	all, err = locate(source, m)
	require.NoError(t, err)
	require.Equal(t, "pkg:golang/example.com/m@devel", all[0].url())
	c, err := library(all[0])
	require.NoError(t, err)
	require.Equal(t, "The build replaces version v1.0.0 by the directory ./m.", c.Pedigree.Notes)
}
