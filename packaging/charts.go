package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// chart is the source of the Helm chart. chartFiles are the files that it shares with the kustomize
// directories. They exist once in the repository.
const chart = "deploy/charts/capacity-card"

var chartFiles = []string{
	"deploy/admission/policy.yaml",
	"deploy/admission/binding.yaml",
	"deploy/cardctl/clusterrole.yaml",
	"deploy/drop-in/disruption.yaml",
	"deploy/observability/dashboard.json",
	"deploy/observability/prometheus/alerts.yaml",
	"deploy/observability/prometheus/servicemonitor.yaml",
	"deploy/view-metrics/view-monitor.yaml",
	"deploy/view/deployment.yaml",
	"deploy/view/networkpolicy.yaml",
	"deploy/view/role.yaml",
	"deploy/view/service.yaml",
}

func printChart(o options) error {
	directory, err := o.assembleChart()
	fmt.Println(directory)
	return err
}

// assembleChart writes the chart with its shared files into a directory below output, and returns
// the directory. Without a version, the chart has the versions in Chart.yaml.
func (o options) assembleChart() (string, error) {
	to := filepath.Join(o.output, filepath.Base(chart))
	err := os.RemoveAll(to)
	if err != nil {
		return "", err
	}

	err = os.CopyFS(to, os.DirFS(filepath.Join(o.source, chart)))
	if err != nil {
		return "", err
	}

	err = os.Mkdir(filepath.Join(to, "files"), 0o755)
	if err != nil {
		return "", err
	}

	for _, name := range chartFiles {
		content, err := os.ReadFile(filepath.Join(o.source, name))
		if err != nil {
			return "", err
		}

		err = os.WriteFile(filepath.Join(to, "files", filepath.Base(name)), content, 0o644)
		if err != nil {
			return "", err
		}
	}
	if o.version == "" {
		return to, nil
	}

	// Helm expects the version of the chart without v.
	metadata := filepath.Join(to, "Chart.yaml")
	return to, rewrite(metadata, metadata, map[string]string{
		`(?m)^version: .*$`:    "version: " + strings.TrimPrefix(o.version, "v"),
		`(?m)^appVersion: .*$`: "appVersion: " + o.version,
	})
}

// rewrite writes the text of a file with replacements of regular expressions to another.
func rewrite(to, from string, replacements map[string]string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}

	for old, new := range replacements {
		text = regexp.MustCompile(old).ReplaceAll(text, []byte(new))
	}

	return os.WriteFile(to, text, 0o644)
}
