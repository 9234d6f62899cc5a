package validate

import (
	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/plugin/settings"
)

// checkStability notes each alpha setting that is in use, at the first object that has it.
func (ck *checker) checkStability(c *engine.Configuration) {
	annotated := ck.objects.Annotated()

	for _, s := range settings.All() {
		if s.Stability != settings.Alpha {
			continue
		}
		if _, given := c.Arguments[s.Name]; given && c.Given != nil {
			ck.reportConfiguration(c, Note, c.Plugin+": argument "+s.Name+alphaNote)
		}

		for _, a := range annotated {
			_, given := a.Annotations[s.Name]
			if given && (s.Place == settings.Queue) == (a.Kind == "Queue") {
				ck.report(Note, a.Object, a.Kind, a.Field+annotation(s.Name), "%s", s.Short()+alphaNote)
				break
			}
		}
	}
}

// alphaNote is the end of a note about an alpha setting.
const alphaNote = " is alpha: a later release may change or remove it"
