package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

// VolcanoModule returns the directory of the Volcano module in go.mod. It works within this repository only.
func VolcanoModule() (string, error) {
	directory, err := GoCommand(context.Background(), "list", "-m", "-f", "{{.Dir}}", "volcano.sh/volcano")
	if err == nil && directory == "" {
		err = errors.New("the module is not in the module cache: run go mod download")
	}
	if err != nil {
		return "", fmt.Errorf(
			"looking for the sources of Volcano with go list, which works within the repository: %w", err)
	}

	return directory, nil
}

// readDefinitions reads Volcano's custom resource definitions from its module. A control plane only runs within the
// repository, so the module is there. A copy would have to follow each release, and go:embed cannot read another
// module.
func readDefinitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	module, err := VolcanoModule()
	if err != nil {
		return nil, err
	}

	pattern := filepath.Join(module, "config", "crd", "*", "bases", "*.yaml")
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no resource definitions in %s", pattern)
	}

	definitions := make([]*apiextensionsv1.CustomResourceDefinition, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}

		definitions[i] = &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, definitions[i]); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
	}

	return definitions, nil
}

// createDefinitions creates Volcano's resource definitions and waits until each of them is served. All are needed:
// Volcano's controllers share one informer factory, and none of them starts before every kind it watches exists.
func (cp *ControlPlane) createDefinitions(ctx context.Context) error {
	client, err := clientset.NewForConfig(cp.RestConfig)
	if err != nil {
		return err
	}

	definitions, err := readDefinitions()
	if err != nil {
		return err
	}

	resource := client.ApiextensionsV1().CustomResourceDefinitions()
	pending := sets.New[string]()
	for _, definition := range definitions {
		_, err := resource.Create(ctx, definition, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("creating %s: %w", definition.Name, err)
		}
		pending.Insert(definition.Name)
	}

	served := func(ctx context.Context) (bool, error) {
		list, err := resource.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}

		for i := range list.Items {
			if apihelpers.IsCRDConditionTrue(&list.Items[i], apiextensionsv1.Established) {
				pending.Delete(list.Items[i].Name)
			}
		}
		return pending.Len() == 0, nil
	}

	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, served)
}
