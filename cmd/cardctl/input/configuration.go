package input

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The ConfigMap of the scheduler's configuration in Volcano's chart.
const (
	chartNamespace = "volcano-system"
	chartConfigMap = "volcano-scheduler-configmap"
)

// chartKey is the file of that ConfigMap that the scheduler reads.
const chartKey = "volcano-scheduler.conf"

// schedulerName is the name of the scheduler whose pods cardctl explains. A scheduler
// without the flag --scheduler-name has it.
const schedulerName = "volcano"

// Configuration is the text of a volcano-scheduler.conf.
type Configuration struct {
	Text   string
	Origin string // the ConfigMap, its file, and the Deployment that mounts it
	Source        // of the ConfigMap
	Object string // the ConfigMap, "" for a file that is none
}

// mount is the file that a scheduler reads its configuration from.
type mount struct {
	deployment *appsv1.Deployment
	configMap  string // "" if the file is in no ConfigMap
	key        string
}

// Configuration finds the scheduler's configuration: in the ConfigMap that the
// scheduler's Deployment mounts or, without such a Deployment, in the only ConfigMap with
// a configuration. If there is none, it returns nil and the reason. It fails if there are
// several that differ.
func (o *Objects) Configuration() (found *Configuration, missing string, err error) {
	var all []Configuration
	for _, m := range mounts(o.Deployments) {
		text, problem := o.mounted(m)
		if problem != "" {
			missing = problem
			continue
		}
		found := o.configurationFrom(o.configMap(m.deployment.Namespace, m.configMap), text)
		found.Origin += ", which Deployment " + full(m.deployment) + " mounts"
		all = append(all, found)
	}
	if len(all) == 0 && missing == "" {
		for _, m := range o.ConfigMaps {
			if text, ok := configurationOf(m); ok {
				all = append(all, o.configurationFrom(m, text))
			}
		}
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
	if slices.ContainsFunc(all, func(c Configuration) bool { return c.Text != all[0].Text }) {
		return nil, "", fmt.Errorf("there are %d different scheduler configurations: %s; name one with --scheduler-conf",
			len(all), strings.Join(origins, "; "))
	}
	return &all[0], "", nil
}

// mounted returns the text of a mounted configuration, or why there is none.
func (o *Objects) mounted(m mount) (text, problem string) {
	if m.configMap == "" {
		return "", fmt.Sprintf("Deployment %s reads its configuration from a volume that is no ConfigMap", full(m.deployment))
	}
	configMap := o.configMap(m.deployment.Namespace, m.configMap)
	if configMap == nil {
		return "", fmt.Sprintf("Deployment %s mounts ConfigMap %s/%s, which is missing", full(m.deployment), m.deployment.Namespace, m.configMap)
	}
	text, ok := configMap.Data[m.key]
	if !ok {
		return "", fmt.Sprintf("Deployment %s reads %s of ConfigMap %s, which has no such file", full(m.deployment), m.key, full(configMap))
	}
	return text, ""
}

func (o *Objects) configMap(namespace, name string) *v1.ConfigMap {
	if i := slices.IndexFunc(o.ConfigMaps, func(m *v1.ConfigMap) bool { return m.Namespace == namespace && m.Name == name }); i >= 0 {
		return o.ConfigMaps[i]
	}
	return nil
}

// configurationFrom returns the text of a configuration with where it comes from.
func (o *Objects) configurationFrom(configMap *v1.ConfigMap, text string) Configuration {
	c := Configuration{Text: text, Origin: "ConfigMap " + full(configMap), Source: o.SourceOf(configMap), Object: named("ConfigMap", configMap)}
	if c.File != "" {
		c.Origin += " (" + c.Source.String() + ")"
	}
	return c
}

func full(object metav1.Object) string { return object.GetNamespace() + "/" + object.GetName() }

// mounts returns the configuration files of the Deployments that run the scheduler named
// volcano. A Deployment without replicas runs none.
func mounts(deployments []*appsv1.Deployment) (all []mount) {
	for _, d := range deployments {
		if d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
			continue
		}
		for i := range d.Spec.Template.Spec.Containers {
			c := &d.Spec.Template.Spec.Containers[i]
			files, names := flagValues(c, "--scheduler-conf"), flagValues(c, "--scheduler-name")
			if len(files) == 0 || len(names) > 0 && !slices.Contains(names, schedulerName) {
				continue
			}
			m := mount{deployment: d}
			m.configMap, m.key = mountedFrom(&d.Spec.Template.Spec, c, files[len(files)-1])
			all = append(all, m)
		}
	}
	return all
}

// flagValues returns the values of a flag on the command line of a container.
func flagValues(c *v1.Container, name string) (values []string) {
	words := strings.Fields(strings.Join(slices.Concat(c.Command, c.Args), " "))
	for i, word := range words {
		if value, ok := strings.CutPrefix(word, name+"="); ok {
			values = append(values, value)
		} else if word == name && i+1 < len(words) {
			values = append(values, words[i+1])
		}
	}
	return values
}

// mountedFrom returns the ConfigMap and the key of a file of a container, "" if the file
// is in no ConfigMap.
func mountedFrom(pod *v1.PodSpec, c *v1.Container, file string) (configMap, key string) {
	for _, m := range c.VolumeMounts {
		inside, ok := strings.CutPrefix(path.Clean(file), path.Clean(m.MountPath))
		if !ok || inside != "" && inside[0] != '/' {
			continue
		}
		key = strings.TrimPrefix(path.Join(m.SubPath, inside), "/")
		for _, v := range pod.Volumes {
			if v.Name != m.Name || v.ConfigMap == nil {
				continue
			}
			for _, item := range v.ConfigMap.Items {
				if item.Path == key {
					return v.ConfigMap.Name, item.Key
				}
			}
			return v.ConfigMap.Name, key
		}
	}
	return "", ""
}

// configurationOf returns the scheduler's configuration in a ConfigMap: the file with the
// name in Volcano's chart, or else the only file that ends in .conf.
func configurationOf(m *v1.ConfigMap) (text string, ok bool) {
	text, ok = m.Data[chartKey]
	if ok {
		return text, true
	}
	n := 0
	for name, content := range m.Data {
		if strings.HasSuffix(name, ".conf") && isConfiguration(content) {
			text = content
			n++
		}
	}
	return text, n == 1
}

func isConfiguration(text string) bool { return strings.Contains(text, "tiers:") }

// mayConfigure reports whether a ConfigMap has a file that can be a configuration of the
// scheduler.
func mayConfigure(m *v1.ConfigMap) bool {
	_, chart := m.Data[chartKey]
	return chart || slices.ContainsFunc(slices.Collect(maps.Values(m.Data)), isConfiguration)
}

// ConfigurationIn is the scheduler's configuration in a file: that of the ConfigMap in
// it, or else the whole file.
func ConfigurationIn(text []byte) string {
	o := New()
	o.decode(split("", text), nil)
	for _, m := range o.ConfigMaps {
		if text, ok := configurationOf(m); ok {
			return text
		}
	}
	return string(text)
}
