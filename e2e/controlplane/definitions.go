package controlplane

import (
	"context"
	"embed"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

// definitionFiles are Volcano's custom resource definitions, copied from the Volcano module in go.mod so that the
// binary needs no source tree. A test compares the copies with the module.
//
//go:embed crds/*.yaml
var definitionFiles embed.FS

// createDefinitions creates Volcano's resource definitions and waits until each of them is served. All are needed:
// Volcano's controllers share one informer factory, and none of them starts before every kind it watches exists.
func (cp *ControlPlane) createDefinitions(ctx context.Context) error {
	client, err := clientset.NewForConfig(cp.RestConfig)
	if err != nil {
		return err
	}
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	files, err := definitionFiles.ReadDir("crds")
	if err != nil {
		return err
	}
	pending := map[string]bool{}
	for _, file := range files {
		definition, err := readDefinition("crds/" + file.Name())
		if err != nil {
			return fmt.Errorf("reading %s: %w", file.Name(), err)
		}
		if _, err := definitions.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating %s: %w", definition.Name, err)
		}
		pending[definition.Name] = true
	}
	served := func(ctx context.Context) (bool, error) {
		list, err := definitions.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for i := range list.Items {
			if established(&list.Items[i]) {
				delete(pending, list.Items[i].Name)
			}
		}
		return len(pending) == 0, nil
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, served)
}

func readDefinition(path string) (*apiextensionsv1.CustomResourceDefinition, error) {
	text, err := definitionFiles.ReadFile(path)
	if err != nil {
		return nil, err
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	return definition, yaml.UnmarshalStrict(text, definition)
}

// established tells whether the API server serves the definition's resources.
func established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range definition.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
