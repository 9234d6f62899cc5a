package model

import "regexp"

var (
	// differs matches the parts of a text that differ between issues of one problem: names in quotes and brackets, the
	// parent of a queue, and quantities.
	differs = regexp.MustCompile(`"[^"]*"|<[^>]*>|\bparent [^\s,;]+|-?\b\d[\w./+-]*`)
	// cannotRun matches the text of a job that cannot run. Its problem is the rule.
	cannotRun = regexp.MustCompile(`(?s)^(it (?:cannot run|runs, and cannot start again), even alone): .* (\(\w+\))$`)
)

// Alike returns a text of an issue without the parts that differ in other issues of the same problem.
func (c *Checks) Alike(text string) string {
	if alike, known := c.alike[text]; known {
		return alike
	}
	return alikeOf(text)
}

// findAlike keeps the texts, since each page with problems needs all of them.
func (c *Checks) findAlike() {
	c.alike = map[string]string{}
	for _, i := range c.Issues {
		c.alike[i.Field] = c.Alike(i.Field)
		c.alike[i.Message] = c.Alike(i.Message)
	}
}

func alikeOf(text string) string {
	if found := cannotRun.FindStringSubmatch(text); found != nil {
		return found[1] + " " + found[2]
	}

	return differs.ReplaceAllStringFunc(text, func(part string) string {
		switch part[0] {
		case '"':
			return `"…"`
		case '<':
			return "<…>"
		case 'p':
			return "parent …"
		}
		return "…"
	})
}
