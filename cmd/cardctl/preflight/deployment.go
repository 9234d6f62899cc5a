package preflight

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
)

// shown are the flags that operators ask about first.
var shown = []string{
	"--scheduler-name", "--schedule-period", input.LeaderElect, "--feature-gates", "--percentage-nodes-to-find",
}

// checkDeployment checks that the flags of the scheduler work with the image of this project. deploy/patch keeps them.
// The image has one static program, no shell, and writes below /tmp.
func (s *Subject) checkDeployment() Check {
	const name = "flags"
	if lack := s.Lacks[input.DeploymentsPart]; lack != "" {
		return unknown(name, lack)
	}

	d := s.Schedulers[0].Deployment
	container := s.Schedulers[0].Container

	var kept []string
	for _, flag := range shown {
		if values := input.FlagValues(container, flag); len(values) > 0 {
			kept = append(kept, flag+"="+strings.Join(values, ","))
		}
	}

	c := Check{Name: name, Result: OK, Message: strings.Join(append(kept, "all flags stay as they are"), " ")}
	if len(kept) > 0 {
		c.Message = strings.Join(kept, " ") + " and all other flags stay as they are"
	}

	if len(s.Schedulers) > 1 {
		c.detail(Stop, fmt.Sprintf("%d Deployments run the scheduler volcano, and both decide", len(s.Schedulers)),
			fmt.Sprintf("kubectl -n %s delete deployment %s    # one of them", d.Namespace, d.Name))
	}
	if len(container.Command) > 0 && path.Base(container.Command[0]) != "vc-scheduler" {
		c.detail(Stop, fmt.Sprintf("the container runs %s, which is not in the image", container.Command[0]),
			"remove command of the container: the image starts /vc-scheduler")
	}
	if len(input.FlagValues(container, "--plugins-dir")) > 0 {
		c.detail(Stop, "--plugins-dir loads shared objects, which a static program cannot",
			"compile your plugins into a scheduler of your own: docs/install.md#forks")
	}
	if readOnly(container) {
		c.detail(Stop,
			"the root file system is read-only, and the scheduler writes the checked configuration below /tmp",
			"mount an emptyDir at /tmp, or set the variable TMPDIR to a volume")
	}

	elects := true // without the flag
	for _, value := range input.FlagValues(container, input.LeaderElect) {
		elects, _ = strconv.ParseBool(value)
	}
	if replicas := ptr.Deref(d.Spec.Replicas, 1); replicas > 1 && !elects {
		c.detail(Note, fmt.Sprintf("%d replicas decide at once, without leader election", replicas),
			"flag of the scheduler: --leader-elect=true")
	}

	if d.Name != patched || container.Name != patched {
		c.detail(Note, fmt.Sprintf("the Deployment is %s, and its container %s", d.Name, container.Name),
			"write these names in place of "+patched+" in deploy/patch/scheduler.yaml")
	}
	return c
}

// patched is the name of the Deployment and of its container in deploy/patch.
const patched = "volcano-scheduler"

// readOnly reports whether the container cannot write a temporary file.
func readOnly(c *v1.Container) bool {
	if c.SecurityContext == nil || !ptr.Deref(c.SecurityContext.ReadOnlyRootFilesystem, false) {
		return false
	}

	temporary := slices.ContainsFunc(c.VolumeMounts, func(m v1.VolumeMount) bool {
		return path.Clean(m.MountPath) == "/tmp"
	})
	elsewhere := slices.ContainsFunc(c.Env, func(e v1.EnvVar) bool { return e.Name == "TMPDIR" })
	return !temporary && !elsewhere
}
