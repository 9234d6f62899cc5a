package controlplane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

// TestRunOfPod reads how long pods run from their commands, as Volcano's own suites write them.
func TestRunOfPod(t *testing.T) {
	const never, onFailure, always = corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure, corev1.RestartPolicyAlways
	shell := func(script string) corev1.Container {
		return corev1.Container{Image: "nginx", Command: []string{"/bin/sh"}, Args: []string{"-c", script}}
	}
	for name, c := range map[string]struct {
		policy     corev1.RestartPolicy
		containers []corev1.Container
		want       run
	}{
		"server":            {never, []corev1.Container{{Image: "nginx:1.29.3-alpine"}}, run{forever: true}},
		"shell":             {onFailure, []corev1.Container{{Image: "busybox"}}, run{}},
		"shell with a tag":  {never, []corev1.Container{{Image: "docker.io/library/busybox:1.36"}}, run{}},
		"shell restarts":    {always, []corev1.Container{{Image: "busybox"}}, run{forever: true}},
		"sleep":             {onFailure, []corev1.Container{shell("sleep 5")}, run{after: 5 * time.Second}},
		"seconds":           {never, []corev1.Container{shell("sleep 10s")}, run{after: 10 * time.Second}},
		"exit":              {never, []corev1.Container{shell("sleep 10s && exit 3")}, run{after: 10 * time.Second, status: 3}},
		"not found":         {never, []corev1.Container{shell("sleep 10s && xxx")}, run{after: 10 * time.Second, status: commandNotFound}},
		"script not found":  {never, []corev1.Container{shell("sh fake.sh")}, run{status: commandNotFound}},
		"failure restarts":  {onFailure, []corev1.Container{shell("exit 3")}, run{forever: true}},
		"without a shell":   {never, []corev1.Container{{Command: []string{"sleep", "3"}}}, run{after: 3 * time.Second}},
		"nothing after end": {never, []corev1.Container{shell("exit 0 && sleep 5")}, run{}},
		"longest":           {never, []corev1.Container{shell("sleep 3"), shell("sleep 1 && exit 4")}, run{after: 3 * time.Second, status: 4}},
		"one serves":        {never, []corev1.Container{shell("sleep 3"), {Image: "nginx"}}, run{forever: true}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: c.policy, Containers: c.containers}}
			assert.Equal(t, c.want, runOfPod(pod))
		})
	}
}
