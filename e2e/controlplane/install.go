package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
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

	var objects []*unstructured.Unstructured
	for _, document := range bytes.Split(manifest, []byte("\n---\n")) {
		object, err := parse(document)
		if err != nil {
			return nil, fmt.Errorf("reading Volcano's manifest: %w", err)
		}

		hasPrefix := func(prefix string) bool { return strings.HasPrefix(object.GetName(), prefix) }
		if slices.ContainsFunc(prefixes, hasPrefix) {
			objects = append(objects, object)
		}
	}
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

	var objects []*unstructured.Unstructured
	for _, each := range resources.Resources() {
		text, err := each.AsYAML()
		if err != nil {
			return nil, err
		}

		object, err := parse(text)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}

	return objects, nil
}

func parse(document []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	return object, yaml.Unmarshal(document, &object.Object)
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
