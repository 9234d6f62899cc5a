package preflight

import (
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
)

// checkHelm compares the configuration and the Deployment of the scheduler with what Helm stores. The next helm upgrade
// overwrites changes that were made in the cluster.
func (s *Subject) checkHelm() Check {
	const name = "helm"
	owner, namespace := s.Owner()
	switch {
	case s.ConfigMap == nil:
		return unknown(name, s.Lacks[input.ConfigurationPart])
	case owner == "":
		return Check{Name: name, Result: OK, Message: "the ConfigMap belongs to no release of Helm"}
	case s.Release == nil:
		return unknown(name, s.Lacks[input.ReleasePart],
			fmt.Sprintf("helm get manifest %s -n %s    # compare it with the cluster", owner, namespace))
	}

	c := Check{
		Name:    name,
		Result:  OK,
		Message: fmt.Sprintf("release %s, revision %d, is what the cluster has", owner, s.Release.Revision),
	}

	stored, image, args := s.stored()
	differ := func(what, stored, found string, do ...string) {
		if stored == found {
			return
		}
		c.detail(Note, diff(what, stored, found), do...)
		c.Message = fmt.Sprintf("release %s, revision %d, differs: the next helm upgrade resets the cluster to it",
			owner, s.Release.Revision)
	}

	differ("the configuration", trimmed(stored), trimmed(s.Configuration.Text),
		"with each helm upgrade: --set-file custom.scheduler_config_override=volcano-scheduler.conf")
	if len(s.Schedulers) > 0 && image != "" {
		container := s.Schedulers[0].Container
		differ("the image", image, container.Image)
		differ("the flags", strings.Join(args, "\n"), strings.Join(container.Args, "\n"))
	}
	return c
}

// stored returns the configuration, the image and the flags of the scheduler in the manifest of the release.
func (s *Subject) stored() (text, image string, args []string) {
	for document := range strings.SplitSeq(s.Release.Manifest, "\n---") {
		var object metav1.PartialObjectMetadata
		err := yaml.Unmarshal([]byte(document), &object)
		switch {
		case err != nil: // a part that Helm did not accept either
		case object.Kind == "ConfigMap" && object.Name == s.ConfigMap.Name:
			var configMap v1.ConfigMap
			if yaml.Unmarshal([]byte(document), &configMap) == nil {
				text = configMap.Data[s.Configuration.Key]
			}
		case object.Kind == "Deployment" && len(s.Schedulers) > 0 && object.Name == s.Schedulers[0].Deployment.Name:
			var deployment appsv1.Deployment
			if yaml.Unmarshal([]byte(document), &deployment) == nil {
				image, args = s.container(&deployment)
			}
		}
	}
	return text, image, args
}

// container returns the image and the flags of the scheduler in a Deployment.
func (s *Subject) container(d *appsv1.Deployment) (image string, args []string) {
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name == s.Schedulers[0].Container.Name {
			return c.Image, c.Args
		}
	}
	return "", nil
}

// diff returns the lines that differ: lines of Helm with -, lines of the cluster with +.
func diff(what, stored, found string) string {
	text, _ := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{ // only a writer can fail, and there is none
		A:        difflib.SplitLines(stored),
		B:        difflib.SplitLines(found),
		FromFile: what + " of Helm",
		ToFile:   what + " of the cluster",
	})
	return strings.TrimRight(text, "\n")
}

// trimmed returns a text without spaces at the ends of its lines, and without empty lines at its end: Helm's templates
// indent a text, which changes them.
func trimmed(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, " \n"), "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n")
}
