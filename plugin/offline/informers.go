package offline

import (
	"sync"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// NoInformers returns the informers in which Volcano's predicates look volumes up. They are empty.
var NoInformers = sync.OnceValue(func() informers.SharedInformerFactory {
	metrics.Register() // without which Kubernetes' own plugins panic
	return informers.NewSharedInformerFactory(fake.NewClientset(), 0)
})
