package validate

import (
	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/plugin/guard"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// checkConfiguration reads the scheduler's configuration as the scheduler does: with its guard, and with the parser of
// the quota plugin's arguments.
func (ck *checker) checkConfiguration(c *engine.Configuration) {
	if c.Given == nil {
		return
	}

	if err := guard.Check(c.Given.Text); err != nil {
		ck.reportConfiguration(c, Error, err.Error())
	}
	for _, warning := range guard.Warnings(c.Given.Text) {
		ck.reportConfiguration(c, Warning, warning)
	}
	for _, problem := range inspect.ArgumentProblems(c.Plugin, c.Arguments) {
		ck.reportConfiguration(c, Warning, c.Plugin+": "+problem)
	}
}

// reportConfiguration adds an issue of the scheduler's configuration.
func (ck *checker) reportConfiguration(c *engine.Configuration, severity Severity, message string) {
	ck.issues = append(ck.issues,
		Issue{Source: c.Given.Source, Severity: severity, Object: c.Given.Object, Message: message})
}
