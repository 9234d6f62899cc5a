package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// VolcanoInstallation returns objects of Volcano's own installation, from the manifest in its module. Their names begin
// with one of the prefixes.
func VolcanoInstallation(prefixes ...string) ([]*unstructured.Unstructured, error) {
	module, err := VolcanoModule()
	if err != nil {
		return nil, err
	}

	manifest, err := os.ReadFile(filepath.Join(module, "installer", "volcano-development.yaml"))
	if err != nil {
		return nil, err
	}

	objects, err := parseAll(string(manifest))
	if err != nil {
		return nil, fmt.Errorf("reading Volcano's manifest: %w", err)
	}

	objects = slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool {
		hasPrefix := func(prefix string) bool { return strings.HasPrefix(object.GetName(), prefix) }
		return !slices.ContainsFunc(prefixes, hasPrefix)
	})
	if len(objects) == 0 {
		return nil, fmt.Errorf("the manifest of Volcano has no object named %s*", strings.Join(prefixes, "*, "))
	}

	return objects, nil
}

// Render returns the objects that kubectl apply -k sends for a directory.
func Render(directory string) ([]*unstructured.Unstructured, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", directory, err)
	}

	manifest, err := resources.AsYaml()
	if err != nil {
		return nil, err
	}

	return parseAll(string(manifest))
}

// betweenDocuments is the line between two documents of a manifest.
var betweenDocuments = regexp.MustCompile(`(?m)^---\s*$`)

// parseAll returns the objects of a manifest. A document without one is left out.
func parseAll(manifest string) (objects []*unstructured.Unstructured, err error) {
	for _, document := range betweenDocuments.Split(manifest, -1) {
		object := &unstructured.Unstructured{}
		err := yaml.Unmarshal([]byte(document), &object.Object)
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}

	return objects, nil
}

// Apply applies objects on the server's side for a field manager, as kubectl apply --server-side --force-conflicts
// does.
func (cp *ControlPlane) Apply(
	ctx context.Context, objects []*unstructured.Unstructured, manager string, dryRun ...string,
) error {
	client, err := dynamic.NewForConfig(cp.RestConfig)
	if err != nil {
		return err
	}

	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(cp.Kube.Discovery()))
	for _, object := range objects {
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return err
		}

		options := metav1.ApplyOptions{FieldManager: manager, Force: true, DryRun: dryRun}
		resource := client.Resource(mapping.Resource).Namespace(object.GetNamespace())
		_, err = resource.Apply(ctx, object.GetName(), object, options)
		if err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}

	return nil
}
