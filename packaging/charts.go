package main

import (
	"compress/gzip"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// chart is the source of the Helm chart, and chartFiles what it shares with the kustomize
// directories. These files exist once in the repository.
const chart = "deploy/charts/capacity-card"

var chartFiles = []string{
	"deploy/admission/policy.yaml",
	"deploy/admission/binding.yaml",
	"deploy/cardctl/clusterrole.yaml",
	"deploy/observability/dashboard.json",
	"deploy/observability/prometheus/alerts.yaml",
	"deploy/observability/prometheus/servicemonitor.yaml",
	"deploy/view/deployment.yaml",
	"deploy/view/networkpolicy.yaml",
	"deploy/view/role.yaml",
	"deploy/view/service.yaml",
}

func defineCharts(flags *flag.FlagSet) func() error {
	source := flags.String("source", ".", "the `directory` of the repository")
	version := flags.String("version", "", "the version of the chart and of the images; by default, those in Chart.yaml")
	output := flags.String("o", "bin/charts", "the `directory` to write to")
	return func() error {
		directory, err := assembleChart(*source, *version, *output)
		fmt.Println(directory)
		return err
	}
}

// assembleChart writes the chart with the files that it shares into a directory below
// output, and returns it.
func assembleChart(source, version, output string) (string, error) {
	to := filepath.Join(output, filepath.Base(chart))
	if err := os.RemoveAll(to); err != nil {
		return "", err
	}
	if err := os.CopyFS(to, os.DirFS(filepath.Join(source, chart))); err != nil {
		return "", err
	}
	if err := os.Mkdir(filepath.Join(to, "files"), 0o755); err != nil {
		return "", err
	}
	for _, name := range chartFiles {
		content, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(to, "files", filepath.Base(name)), content, 0o644); err != nil {
			return "", err
		}
	}
	if version == "" {
		return to, nil
	}
	return to, setChartVersion(filepath.Join(to, "Chart.yaml"), version)
}

// setChartVersion writes a release into a Chart.yaml. Helm wants a version without v.
func setChartVersion(path, version string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text = regexp.MustCompile(`(?m)^version: .*$`).ReplaceAll(text, []byte("version: "+strings.TrimPrefix(version, "v")))
	text = regexp.MustCompile(`(?m)^appVersion: .*$`).ReplaceAll(text, []byte("appVersion: "+version))
	return os.WriteFile(path, text, 0o644)
}

// packChart writes the chart as helm package does, but with one time for all files.
func packChart(directory, archive string, created time.Time) error {
	var files []file
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(directory), path)
		files = append(files, file{name: filepath.ToSlash(name), mode: 0o644, path: path})
		return err
	})
	if err != nil {
		return err
	}
	return writeTarGz(archive, created, files)
}

// writeTarGz writes an archive of files.
func writeTarGz(path string, created time.Time, files []file) error {
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	defer to.Close()
	compressed := gzip.NewWriter(to)
	if err := writeTar(compressed, created, files); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	return to.Close()
}
