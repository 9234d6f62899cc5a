// Package background sets the background of the terminal that Lip Gloss assumes. It has no
// effect on the colours of cardctl. Without it, Bubble Tea asks the terminal when the program
// starts, for any command, and waits up to five seconds for its answer.
//
// Go initializes this package before Bubble Tea: both depend on Lip Gloss, and then the
// order of the import paths decides.
package background

import "github.com/charmbracelet/lipgloss"

func init() { lipgloss.SetHasDarkBackground(true) }
