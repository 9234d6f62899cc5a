package record

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// TestOwnerOf returns the controller of a PodGroup, on which an event is recorded as
// well. A pod has an event of its own.
func TestOwnerOf(t *testing.T) {
	yes := true
	owner := func(kind string, controller *bool) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "example.com/v1", Kind: kind, Name: "train", UID: "7", Controller: controller}
	}
	for _, test := range []struct {
		name   string
		owners []metav1.OwnerReference
		want   string // kind
	}{
		{"none", nil, ""},
		{"a job", []metav1.OwnerReference{owner("Job", &yes)}, "Job"},
		{"a controller among others", []metav1.OwnerReference{owner("Queue", nil), owner("PyTorchJob", &yes)}, "PyTorchJob"},
		{"no controller", []metav1.OwnerReference{owner("Job", nil)}, ""},
		{"a lone pod", []metav1.OwnerReference{owner("Pod", &yes)}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			podGroup := &api.PodGroup{}
			podGroup.Namespace, podGroup.OwnerReferences = "team", test.owners
			got := ownerOf(podGroup)
			if test.want == "" {
				assert.Nil(t, got)
				return
			}
			assert.Equal(t, []string{"example.com/v1", test.want, "team", "train", "7"},
				[]string{got.APIVersion, got.Kind, got.Namespace, got.Name, string(got.UID)})
		})
	}
}
