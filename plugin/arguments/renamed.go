package arguments

import "github.com/capacity-card/capacity-card/index/policy"

// renamed has what replaces each argument of earlier configurations. The old names have no effect.
var renamed = map[string]string{
	"displacePromises":    "the annotation " + policy.OrderKey + ": displace on the queue root",
	"fairShareBy":         "fairShare: {by: deserved|weight}",
	"fairShareCounts":     "fairShare: {counts: all|borrowed}",
	"fairShareHorizon":    "fairShare: {horizon: TIME}",
	"fairShareNamespaces": "the annotation " + policy.FairShareKey + ": namespaces on the queue root",
	"fairShareOf":         "fairShare: {of: [NAME, ...]}",
	"fairShareSave":       "stateSave: TIME",
	"fairShareStore":      "stateStore: NAMESPACE/NAME",
	"fairShareWeights":    "fairShare: {weights: {NAME: NUMBER, ...}}",
	"inqueueTimeout":      "the annotation " + policy.InqueueTimeoutKey + ": TIME on the queue root",
	"keepGuarantees":      "rootCapability: unlimited",
	"reclaimDamping":      "reclaimCompares: damped=N",
}
