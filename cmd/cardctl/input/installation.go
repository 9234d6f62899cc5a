package input

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Installation describes the installed scheduler: its versions, Deployment, configuration and Helm release. A part that
// could not be read is empty, and Lacks has the reason.
type Installation struct {
	Kubernetes string   // the version of the API server, such as v1.34.1
	Groups     []string // the API groups of the server

	Schedulers []Component // the Deployments that run the scheduler named volcano
	Others     []Component // Volcano's controllers and webhooks

	Configuration *Configuration // nil if the cluster has none
	ConfigMap     *v1.ConfigMap  // of the Configuration
	Release       *HelmRelease   // that has the ConfigMap, nil for none

	Lacks map[Part]string
}

// Part is a part of an Installation.
type Part string

// The parts that a user may not be permitted to read, or that files do not have.
const (
	KubernetesPart    Part = "kubernetes"
	GroupsPart        Part = "groups"
	DeploymentsPart   Part = "deployments"
	ConfigurationPart Part = "configuration"
	ReleasePart       Part = "release"
)

// Component is a container of a Deployment of Volcano.
type Component struct {
	Name       string // scheduler, controllers or webhooks
	Deployment *appsv1.Deployment
	Container  *v1.Container
}

// HelmRelease is a release of Helm, as Helm stores it in the cluster.
type HelmRelease struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Revision  int    `json:"version"`
	Manifest  string `json:"manifest"`
}

// ReadInstallation reads the installation of a live cluster. It fails only if the cluster does not answer, or does not
// accept the credentials. It writes nothing.
func ReadInstallation(ctx context.Context, config *rest.Config) (*Installation, error) {
	kube, _, err := clientsOf(config)
	if err != nil {
		return nil, err
	}
	version, err := kube.Discovery().ServerVersion()
	if err != nil {
		return nil, list{kind: "version"}.explain(err, config.Host)
	}

	objects := newComplete()
	deployments, unread := kube.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if unread == nil {
		for i := range deployments.Items {
			if components := componentsOf(&deployments.Items[i]); len(components) > 0 {
				objects.add(&deployments.Items[i], Source{})
			}
		}
	}
	unreadConfiguration := objects.readConfigMaps(ctx, kube, config.Host)

	i := objects.Installation()
	i.Kubernetes = version.GitVersion
	delete(i.Lacks, KubernetesPart)
	delete(i.Lacks, GroupsPart)
	if unread != nil {
		i.Lacks[DeploymentsPart] = list{kind: "deployments.apps", purpose: "they run Volcano"}.
			explain(unread, config.Host).Error()
	}
	if unreadConfiguration != nil {
		i.Lacks[ConfigurationPart] = unreadConfiguration.Error()
	}

	i.readGroups(kube)
	i.readRelease(ctx, kube, config.Host)
	return i, nil
}

// Installation returns the installation that is among objects of files.
func (o *Objects) Installation() *Installation {
	i := &Installation{Lacks: map[Part]string{
		KubernetesPart: "the files do not have the version of the API server",
		GroupsPart:     "the files do not have the API groups of the server",
	}}
	for _, d := range o.Deployments {
		for _, c := range componentsOf(d) {
			if c.Name == schedulerComponent {
				i.Schedulers = append(i.Schedulers, c)
			} else {
				i.Others = append(i.Others, c)
			}
		}
	}
	if len(i.Schedulers) == 0 {
		i.Lacks[DeploymentsPart] = "no Deployment runs the scheduler " + schedulerName
	}

	found, missing, err := o.Configuration()
	switch {
	case err != nil:
		i.Lacks[ConfigurationPart] = err.Error()
	case found == nil:
		i.Lacks[ConfigurationPart] = missing
	default:
		i.Configuration = found
		i.ConfigMap = found.ConfigMap
	}

	if name, _ := i.Owner(); name != "" {
		i.Lacks[ReleasePart] = "the files do not have what Helm stores"
	}
	return i
}

// Owner returns the release of Helm that the ConfigMap of the configuration belongs to, "" for none.
func (i *Installation) Owner() (name, namespace string) {
	if i.ConfigMap == nil {
		return "", ""
	}
	annotations := i.ConfigMap.Annotations
	name = annotations["meta.helm.sh/release-name"]
	return name, cmp.Or(annotations["meta.helm.sh/release-namespace"], i.ConfigMap.Namespace)
}

// schedulerComponent is the name of the scheduler among the components.
const schedulerComponent = "scheduler"

// components are the other programs of Volcano, by a part of the name of their image.
var components = map[string]string{"vc-controller-manager": "controllers", "vc-webhook-manager": "webhooks"}

// componentsOf returns the containers of a Deployment that run Volcano.
func componentsOf(d *appsv1.Deployment) (all []Component) {
	for _, m := range mounts([]*appsv1.Deployment{d}) {
		all = append(all, Component{schedulerComponent, d, m.container})
	}
	for i := range d.Spec.Template.Spec.Containers {
		c := &d.Spec.Template.Spec.Containers[i]
		for image, name := range components {
			if strings.Contains(path.Base(c.Image), image) {
				all = append(all, Component{name, d, c})
			}
		}
	}

	return all
}

// readGroups reads the names of the API groups.
func (i *Installation) readGroups(kube kubernetes.Interface) {
	groups, err := kube.Discovery().ServerGroups()
	if err != nil {
		i.Lacks[GroupsPart] = "the API groups of the server cannot be read: " + lastPart(err)
		return
	}
	for _, g := range groups.Groups {
		i.Groups = append(i.Groups, g.Name)
	}
}

// readRelease reads the release of Helm that the ConfigMap belongs to. Helm 3 keeps the last revision in a Secret with
// the labels owner, name and status.
func (i *Installation) readRelease(ctx context.Context, kube kubernetes.Interface, host string) {
	delete(i.Lacks, ReleasePart)
	name, namespace := i.Owner()
	if name == "" {
		return
	}

	selector := "owner=helm,status=deployed,name=" + name
	secrets, err := kube.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	switch {
	case apierrors.IsForbidden(err):
		const text = "no permission to list secrets in the namespace %s of %s, where Helm stores %s"
		i.Lacks[ReleasePart] = fmt.Sprintf(text, namespace, host, name)
		return
	case err != nil:
		i.Lacks[ReleasePart] = list{kind: "secrets"}.explain(err, host).Error()
		return
	}

	for n := range secrets.Items {
		release, err := decodeRelease(secrets.Items[n].Data["release"])
		if err != nil {
			i.Lacks[ReleasePart] = fmt.Sprintf("the Secret %s cannot be read: %v", full(&secrets.Items[n]), err)
			return
		}
		if i.Release == nil || release.Revision > i.Release.Revision {
			i.Release = release
		}
	}
	if i.Release == nil {
		i.Lacks[ReleasePart] = fmt.Sprintf("there is no Secret of the release %s in the namespace %s", name, namespace)
	}
}

// decodeRelease decodes what Helm stores of a release: JSON that is compressed with gzip and encoded in base64.
func decodeRelease(text []byte) (*HelmRelease, error) {
	zipped, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return nil, err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}

	release := &HelmRelease{}
	return release, json.NewDecoder(unzipped).Decode(release)
}
