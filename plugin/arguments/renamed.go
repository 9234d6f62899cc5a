package arguments

// renamed has what replaces each argument of earlier configurations. The old names have no effect.
var renamed = map[string]string{
	"reclaimDamping": "reclaimCompares: damped=N",
}
