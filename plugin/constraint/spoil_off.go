//go:build !invariants

package constraint

import "github.com/capacity-card/capacity-card/fastres"

func spoil(fastres.Vector) {}
