package arguments

// renamed has what replaces each argument of earlier configurations. The old names have no effect.
var renamed = map[string]string{
	"fairShareBy":      "fairShare: {by: deserved|weight}",
	"fairShareCounts":  "fairShare: {counts: all|borrowed}",
	"fairShareHorizon": "fairShare: {horizon: TIME}",
	"fairShareOf":      "fairShare: {of: [NAME, ...]}",
	"fairShareSave":    "stateSave: TIME",
	"fairShareStore":   "stateStore: NAMESPACE/NAME",
	"fairShareWeights": "fairShare: {weights: {NAME: NUMBER, ...}}",
	"keepGuarantees":   "rootCapability: unlimited",
	"reclaimDamping":   "reclaimCompares: damped=N",
}
