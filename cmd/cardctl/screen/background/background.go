// Package background sets the background of the terminal that Lip Gloss assumes, which has no
// effect on the colours of cardctl. Otherwise, Bubble Tea asks the terminal when the program
// starts, whatever the command, and waits up to five seconds for its answer.
//
// Go initializes this package before Bubble Tea: both depend on Lip Gloss, and then the
// order is that of the import paths.
package background

import "github.com/charmbracelet/lipgloss"

func init() { lipgloss.SetHasDarkBackground(true) }
