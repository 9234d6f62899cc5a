package controlplane

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// commandNotFound is the status of a shell that does not find a command.
const commandNotFound = 127

// run is the simulated life of a container or a pod: it ends with a status some time after its start, or runs forever.
type run struct {
	forever bool
	after   time.Duration
	status  int32
}

// runOfPod returns how long a pod runs: as long as its last container. A pod with a container that restarts runs
// forever. The pauses between restarts are not simulated.
func runOfPod(pod *corev1.Pod) run {
	var whole run
	for i := range pod.Spec.Containers {
		r := runOf(&pod.Spec.Containers[i])
		restarts := pod.Spec.RestartPolicy == corev1.RestartPolicyAlways ||
			pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && r.status != 0
		if r.forever || restarts {
			return run{forever: true}
		}

		whole.after = max(whole.after, r.after)
		if r.status != 0 {
			whole.status = r.status
		}
	}

	return whole
}

// runOf reads the command of a container, such as sleep 10s && exit 3. Without a command, an image serves forever. Only
// the shell of busybox ends at once.
func runOf(container *corev1.Container) run {
	words := slices.Concat(container.Command, container.Args)
	if len(words) == 0 {
		image, _, _ := strings.Cut(path.Base(container.Image), ":")
		return run{forever: image != "busybox"}
	}
	if len(words) == 3 && path.Base(words[0]) == "sh" && words[1] == "-c" {
		return runOfScript(words[2])
	}

	return runOfScript(strings.Join(words, " "))
}

// runOfScript adds up the sleeps of commands that are joined by &&. A command other than sleep and exit is not found.
func runOfScript(script string) (r run) {
	for _, command := range strings.Split(script, "&&") {
		words := strings.Fields(command)
		if len(words) != 2 {
			r.status = commandNotFound
			return r
		}

		switch words[0] {
		case "sleep":
			seconds, err := strconv.Atoi(strings.TrimSuffix(words[1], "s"))
			if err != nil {
				r.status = 1
				return r
			}

			r.after += time.Duration(seconds) * time.Second
		case "exit":
			status, err := strconv.ParseUint(words[1], 10, 8)
			if err != nil {
				status = 2
			}
			r.status = int32(status)
			return r
		default:
			r.status = commandNotFound
			return r
		}
	}

	return r
}
