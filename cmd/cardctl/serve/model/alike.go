package model

import "regexp"

// What differs from issue to issue of one problem: names in quotes and brackets, the parent of a queue,
// and quantities. Of a job that cannot run, the rule is the problem.
var (
	differs   = regexp.MustCompile(`"[^"]*"|<[^>]*>|\bparent [^\s,;]+|-?\b\d[\w./+-]*`)
	cannotRun = regexp.MustCompile(`(?s)^(it cannot run, even alone): .* (\(\w+\))$`)
)

// Alike returns a text of an issue without what differs in other issues of the same problem.
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
		c.alike[i.Field], c.alike[i.Message] = c.Alike(i.Field), c.Alike(i.Message)
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
