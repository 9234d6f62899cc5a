//go:build staging

// Package staging has "go mod tidy" keep Kubernetes modules in go.mod that nothing
// here imports.
//
// k8s.io/kubernetes requires each of its staging modules at v0.0.0, a version that no
// proxy has. A requirement of a higher version wins, without a replace directive. Then
// "go list -m all" works, also in modules that import this one.
package staging

import (
	_ "k8s.io/cri-client/pkg/util"
	_ "k8s.io/kube-proxy/config/v1alpha1"
	_ "k8s.io/sample-apiserver/pkg/apis/wardle"
)
