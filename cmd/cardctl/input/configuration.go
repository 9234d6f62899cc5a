package input

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// The ConfigMap of the scheduler's configuration in Volcano's chart, and its file.
const (
	chartNamespace = "volcano-system"
	chartConfigMap = "volcano-scheduler-configmap"
	chartKey       = "volcano-scheduler.conf"
)

// schedulerName is the name of the scheduler that cardctl explains. It is the default of the flag --scheduler-name.
const schedulerName = "volcano"

// Configuration is the text of a volcano-scheduler.conf.
type Configuration struct {
	Text   string
	Origin string // the ConfigMap, its file, and the Deployment that mounts it
	Source        // of the ConfigMap
	Object string // the ConfigMap, "" for another file

	ConfigMap *v1.ConfigMap // nil for another file
	Key       string        // of the file in the ConfigMap
}

// Short names the place of the configuration in few words.
func (c *Configuration) Short() string {
	switch {
	case c.Object == "":
		return c.Origin
	case c.File != "":
		return c.Source.String()
	}
	place, _, _ := strings.Cut(c.Origin, ",")
	return place
}

// mount is the file from which a scheduler reads its configuration.
type mount struct {
	deployment *appsv1.Deployment
	container  *v1.Container
	configMap  string // "" if the file is in no ConfigMap
	key        string
}

// Configuration finds the scheduler's configuration. It is in the ConfigMap that the scheduler's Deployment mounts.
// Without such a Deployment, it is in the only ConfigMap with a configuration. If there is none, Configuration returns
// nil and the reason. It fails if there are several different ones.
func (o *Objects) Configuration() (found *Configuration, missing string, err error) {
	all, missing := o.mountedConfigurations()
	if len(all) == 0 && missing == "" {
		all = o.configurations()
		missing = "the input has no ConfigMap with one"
		if o.complete {
			missing = fmt.Sprintf("no Deployment runs the scheduler %s, and there is no ConfigMap %s/%s",
				schedulerName, chartNamespace, chartConfigMap)
		}
	}
	if len(all) == 0 {
		return nil, missing, nil
	}

	var origins []string
	for _, c := range all {
		origins = append(origins, c.Origin)
	}
	if !differ(all) {
		return &all[0], "", nil
	}

	// Whoever may create a Deployment in a namespace must not stop cardctl.
	own := slices.DeleteFunc(slices.Clone(all), func(c Configuration) bool {
		return c.ConfigMap.Namespace != chartNamespace
	})
	if len(own) == 0 || differ(own) {
		const text = "there are %d different scheduler configurations: %s; name one with --scheduler-conf"
		return nil, "", fmt.Errorf(text, len(all), strings.Join(origins, "; "))
	}

	o.warn("there are %d different scheduler configurations: %s; the one of the namespace %s counts",
		len(all), strings.Join(origins, "; "), chartNamespace)
	return &own[0], "", nil
}

// differ reports whether configurations have different texts.
func differ(all []Configuration) bool {
	return slices.ContainsFunc(all, func(c Configuration) bool { return c.Text != all[0].Text })
}

// warn adds a warning, once.
func (o *Objects) warn(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	if !slices.Contains(o.Warnings, text) {
		o.Warnings = append(o.Warnings, text)
	}
}

// mountedConfigurations returns the configurations that Deployments mount. missing is the problem of a mount without
// one.
func (o *Objects) mountedConfigurations() (all []Configuration, missing string) {
	for _, m := range mounts(o.Deployments) {
		problem := o.mountProblem(m)
		if problem != "" {
			missing = problem
			continue
		}

		c := o.configurationFrom(o.configMap(m.deployment.Namespace, m.configMap), m.key)
		c.Origin += ", which Deployment " + full(m.deployment) + " mounts"
		all = append(all, c)
	}

	return all, missing
}

// configurations returns the configurations in all ConfigMaps.
func (o *Objects) configurations() (all []Configuration) {
	for _, m := range o.ConfigMaps {
		if key, ok := configurationKey(m); ok {
			all = append(all, o.configurationFrom(m, key))
		}
	}

	return all
}

// mountProblem returns why there is no mounted configuration, "" if there is one.
func (o *Objects) mountProblem(m mount) string {
	deployment := "Deployment " + full(m.deployment)
	if m.configMap == "" {
		return deployment + " reads its configuration from a volume that is no ConfigMap"
	}

	configMap := o.configMap(m.deployment.Namespace, m.configMap)
	if configMap == nil {
		missing := m.deployment.Namespace + "/" + m.configMap
		return deployment + " mounts ConfigMap " + missing + ", which is missing"
	}

	if _, ok := configMap.Data[m.key]; !ok {
		return deployment + " reads " + m.key + " of ConfigMap " + full(configMap) + ", which has no such file"
	}

	return ""
}

func (o *Objects) configMap(namespace, name string) *v1.ConfigMap {
	for _, m := range o.ConfigMaps {
		if m.Namespace == namespace && m.Name == name {
			return m
		}
	}
	return nil
}

// configurationFrom returns the configuration in a file of a ConfigMap with its origin.
func (o *Objects) configurationFrom(configMap *v1.ConfigMap, key string) Configuration {
	c := Configuration{
		Text:      configMap.Data[key],
		Origin:    "ConfigMap " + full(configMap),
		Source:    o.SourceOf(configMap),
		Object:    Named("ConfigMap", configMap),
		ConfigMap: configMap,
		Key:       key,
	}
	if c.File != "" {
		c.Origin += " (" + c.Source.String() + ")"
	}

	return c
}

func full(object metav1.Object) string { return object.GetNamespace() + "/" + object.GetName() }

// mounts returns the configuration files of the Deployments that run the scheduler named volcano.
func mounts(deployments []*appsv1.Deployment) (all []mount) {
	for _, d := range deployments {
		if ptr.Deref(d.Spec.Replicas, 1) == 0 {
			continue
		}

		pod := &d.Spec.Template.Spec
		for i := range pod.Containers {
			c := &pod.Containers[i]
			files := FlagValues(c, "--scheduler-conf")
			names := FlagValues(c, "--scheduler-name")
			if len(files) > 0 && (len(names) == 0 || slices.Contains(names, schedulerName)) {
				configMap, key := mountedFrom(pod, c, files[len(files)-1])
				all = append(all, mount{d, c, configMap, key})
			}
		}
	}

	return all
}

// LeaderElect is the flag of the scheduler for leader election. It is boolean, so the next word is not its value.
const LeaderElect = "--leader-elect"

// FlagValues returns the values of a flag in the command line of a container, in their order.
func FlagValues(c *v1.Container, name string) (values []string) {
	words := strings.Fields(strings.Join(slices.Concat(c.Command, c.Args), " "))
	for i, word := range words {
		value, ok := strings.CutPrefix(word, name+"=")
		switch {
		case ok:
			values = append(values, value)
		case word == name && name == LeaderElect:
			values = append(values, "true")
		case word == name && i+1 < len(words):
			values = append(values, words[i+1])
		}
	}

	return values
}

// mountedFrom returns the ConfigMap and the key of a file of a container. It returns "" if the file is in no ConfigMap.
func mountedFrom(pod *v1.PodSpec, c *v1.Container, file string) (configMap, key string) {
	for _, m := range c.VolumeMounts {
		inside, ok := strings.CutPrefix(path.Clean(file), path.Clean(m.MountPath))
		if !ok || inside != "" && inside[0] != '/' {
			continue
		}

		key = strings.TrimPrefix(path.Join(m.SubPath, inside), "/")
		for _, v := range pod.Volumes {
			if v.Name == m.Name && v.ConfigMap != nil {
				return v.ConfigMap.Name, keyOf(v.ConfigMap, key)
			}
		}
	}

	return "", ""
}

// keyOf returns the key of the file at a path in the volume of a ConfigMap.
func keyOf(volume *v1.ConfigMapVolumeSource, file string) string {
	for _, item := range volume.Items {
		if item.Path == file {
			return item.Key
		}
	}
	return file
}

// configurationKey returns the file of a ConfigMap with the scheduler's configuration: the file of Volcano's chart, or
// else the only file that ends in .conf.
func configurationKey(m *v1.ConfigMap) (key string, ok bool) {
	if _, ok := m.Data[chartKey]; ok {
		return chartKey, true
	}

	n := 0
	for name, content := range m.Data {
		if strings.HasSuffix(name, ".conf") && isConfiguration(content) {
			key = name
			n++
		}
	}

	return key, n == 1
}

func isConfiguration(text string) bool { return strings.Contains(text, "tiers:") }

// mayConfigure reports whether a ConfigMap has a file that can be a configuration of the scheduler.
func mayConfigure(m *v1.ConfigMap) bool {
	_, chart := m.Data[chartKey]
	return chart || slices.ContainsFunc(slices.Collect(maps.Values(m.Data)), isConfiguration)
}

// ReadConfiguration returns the scheduler's configuration in a file: the configuration of a ConfigMap in the file, or
// else the whole file.
func ReadConfiguration(file string) (*Configuration, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c := &Configuration{Text: string(text), Origin: file, Source: Source{File: file, Line: 1}}

	o := New()
	o.decode(split("", text), nil)
	for _, m := range o.ConfigMaps {
		if key, ok := configurationKey(m); ok {
			c.Text = m.Data[key]
			break
		}
	}
	return c, nil
}
