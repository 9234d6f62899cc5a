package preflight

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// versions matches a version in the tag of an image. Tags of this project end with the version of Volcano.
var versions = regexp.MustCompile(`\d+\.\d+\.\d+`)

// versionOf returns the version of Volcano that an image runs, such as v1.14.1. It returns "" if the tag has none.
func versionOf(image string) string {
	name, _, _ := strings.Cut(path.Base(image), "@")
	_, tag, _ := strings.Cut(name, ":")
	found := versions.FindAllString(tag, -1)
	if len(found) == 0 {
		return ""
	}
	return "v" + found[len(found)-1]
}

// isOurs reports whether an image has a name that this project gives.
func isOurs(image string) bool {
	name := path.Base(image)
	return strings.HasPrefix(name, "vc-scheduler") && (strings.Contains(name, "-volcano-v") ||
		strings.HasPrefix(name, "vc-scheduler-v"))
}

// volcano returns the version of the scheduler, "" if it is not known.
func (s *Subject) volcano() string {
	if len(s.Schedulers) == 0 {
		return ""
	}
	return versionOf(s.Schedulers[0].Container.Image)
}

// needed are the API groups of Volcano that its scheduler watches.
var needed = []string{"batch.volcano.sh", "scheduling.volcano.sh", "topology.volcano.sh"}

// checkVolcano checks that all components of Volcano have one version, and that the API server has their kinds.
func (s *Subject) checkVolcano() Check {
	const name = "volcano"
	if lack := s.Lacks[input.DeploymentsPart]; lack != "" {
		return unknown(name, lack, "kubectl get deployments -A -o wide | grep vc-")
	}

	// A component that has no version in its tag is compared by its image.
	c := Check{Name: name, Result: OK}
	byVersion := map[string][]string{}
	for _, component := range slices.Concat(s.Schedulers[:1], s.Others) {
		version := cmp.Or(versionOf(component.Container.Image), component.Container.Image)
		if !slices.Contains(byVersion[version], component.Name) {
			byVersion[version] = append(byVersion[version], component.Name)
		}
	}

	var parts []string
	for version, names := range byVersion {
		parts = append(parts, strings.Join(names, ", ")+" "+version)
	}
	slices.Sort(parts)
	c.Message = strings.Join(parts, "; ")

	if len(byVersion) > 1 {
		c.worse(Note)
		c.Message += ": the components have different versions"
		c.Do = append(c.Do, upgrade(cmp.Or(s.volcano(), newest)))
	}

	for _, group := range needed {
		if len(s.Groups) > 0 && !slices.Contains(s.Groups, group) {
			c.worse(Stop)
			c.Message += "; the API server has no kinds of " + group
			c.Do = append(c.Do, "kubectl get crd | grep volcano.sh    # apply the CRDs of your Volcano")
		}
	}
	if lack := s.Lacks[input.GroupsPart]; lack != "" && c.Result == OK {
		c.Message += "; CRDs: " + lack
	}
	return c
}

// The releases of Volcano that images are built with.
const (
	oldest = "v1.14.1"
	newest = "v1.15.1"
)

// upgrade is the command that upgrades Volcano to a version.
func upgrade(version string) string {
	return "helm upgrade volcano volcano-sh/volcano -n volcano-system --version " +
		strings.TrimPrefix(version, "v") + " --reset-then-reuse-values"
}

// checkImage names the image that fits the version of Volcano.
func (s *Subject) checkImage() Check {
	const name = "image"
	if lack := s.Lacks[input.DeploymentsPart]; lack != "" {
		return unknown(name, lack)
	}

	current := s.Schedulers[0]
	version := s.volcano()
	if version == "" {
		return unknown(name, fmt.Sprintf("the image %s does not say its version of Volcano", current.Container.Image),
			fmt.Sprintf("kubectl -n %s exec deployment/%s -- /vc-scheduler --version",
				current.Deployment.Namespace, current.Deployment.Name))
	}

	fits := fmt.Sprintf("vc-scheduler:RELEASE-volcano-%s fits", version)
	checkout := "git clone --depth 1 --branch " + version + " https://github.com/volcano-sh/volcano ../volcano && " +
		"make image VOLCANO_SRC=../volcano"
	c := Check{Name: name, Result: OK, Message: fits}
	switch {
	case semver.Compare(version, oldest) < 0:
		return Check{Name: name, Result: Stop, Message: "no image fits Volcano " + version + ": upgrade Volcano first",
			Do: []string{upgrade("v1.14.4")}}
	case isOurs(current.Container.Image):
		c.Message = "the scheduler runs an image of this project already: " + current.Container.Image
	case version == oldest:
		c.Message += ": make image"
	case version == newest:
		c.Message += ": make image VOLCANO=" + strings.TrimPrefix(newest, "v")
	case semver.Compare(version, newest) > 0:
		c.Result = Note
		c.Message = "Volcano " + version + " is newer than what is tested, " + newest
		c.Do = []string{checkout, "make conformance VOLCANO_SRC=../volcano"}
	default:
		c.Message += ": " + checkout
	}

	if built := release.Built(); rulesOf(version) != built {
		c.worse(Note)
		c.Message += fmt.Sprintf("; this cardctl decides by the rules of Volcano %s", built)
		c.Do = append(c.Do,
			"build cardctl with Volcano "+version+", as the image: make cardctl VOLCANO=… or VOLCANO_SRC=…")
	}
	return c
}

// rulesOf returns the release with the rules of a version of Volcano.
func rulesOf(version string) release.Release {
	switch {
	case semver.Compare(version, "v1.14.2") < 0:
		return release.V1141
	case semver.Compare(version, "v1.15.0") < 0:
		return release.V1144
	case semver.Compare(version, "v1.16.0") < 0:
		return release.V115
	}
	return release.V116
}

// Versions of Kubernetes: the first that serves resource.k8s.io/v1, and the last that is tested.
const (
	devicesFrom      = "v1.34.0"
	latestKubernetes = "v1.36"
)

// checkKubernetes checks that the scheduler does not wait for an API that the server lacks. With the gate
// DynamicResourceAllocation it waits for resource.k8s.io/v1. By default the gate is on where the server has that API:
// Volcano's scheduler takes the defaults of the server's version (setupComponentGlobals in cmd/scheduler/app/server.go,
// from v1.15 on in pkg/util/util.go).
func (s *Subject) checkKubernetes() Check {
	const name = "kubernetes"
	version := semver.Canonical(s.Kubernetes)
	switch {
	case s.Kubernetes == "":
		return unknown(name, s.Lacks[input.KubernetesPart], "kubectl version")
	case version == "":
		return unknown(name, "the version "+s.Kubernetes+" of the API server is not read")
	case semver.Compare(semver.MajorMinor(version), latestKubernetes) > 0:
		return Check{Name: name, Result: Note,
			Message: s.Kubernetes + " is newer than what is tested, " + latestKubernetes}
	case semver.Compare(version, devicesFrom) >= 0:
		return Check{Name: name, Result: OK, Message: s.Kubernetes}
	case len(s.Schedulers) == 0:
		return unknown(name, s.Kubernetes+" allows no gate DynamicResourceAllocation, and the Deployment is not known")
	}

	const gate = "DynamicResourceAllocation=true"
	if slices.Contains(s.gates(), gate) {
		return Check{Name: name, Result: Stop,
			Message: s.Kubernetes + " does not serve resource.k8s.io/v1, which the scheduler waits for: " +
				"no pod would start",
			Do: []string{"remove " + gate + " from --feature-gates of the scheduler"}}
	}
	return Check{Name: name, Result: OK, Message: s.Kubernetes + ", without dynamic resource allocation"}
}

// gates returns the feature gates of the scheduler, such as DynamicResourceAllocation=true.
func (s *Subject) gates() (all []string) {
	for _, value := range input.FlagValues(s.Schedulers[0].Container, "--feature-gates") {
		all = append(all, strings.Split(value, ",")...)
	}
	return all
}
