package page

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"golang.org/x/text/language"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// languages are those of the pages; the first one is that of browsers that prefer another.
var languages = []string{"en", "zh"}

var matcher = language.NewMatcher([]language.Tag{language.English, language.Chinese})

// preferred is the language that a browser prefers among those of the pages.
func preferred(accept string) string {
	tags, _, err := language.ParseAcceptLanguage(accept)
	if err != nil {
		return languages[0]
	}
	_, i, _ := matcher.Match(tags...)
	return languages[i]
}

// translate returns a text of the pages in a language, with arguments. Texts that the commands have
// too are translated by advise.
func translate(lang, text string, arguments ...any) string {
	if lang == "zh" {
		if own, known := chinese[text]; known {
			text = own
		}
	}
	if len(arguments) == 0 {
		return text
	}
	return fmt.Sprintf(text, arguments...)
}

// count is a number of things, whose name is a plural with s.
func count(lang string, n int, things string) string {
	if lang == languages[0] && n == 1 {
		things = strings.TrimSuffix(things, "s")
	}
	return fmt.Sprintf("%d %s", n, translate(lang, things))
}

// age is the time since t in short, such as 2h.
func age(t any) string { return duration.HumanDuration(time.Since(timeIn(t))) }

// timeIn is the time of a value of one of the types that pages have for times.
func timeIn(t any) (at time.Time) {
	switch t := t.(type) {
	case *metav1.Time:
		at = t.Time
	case *time.Time:
		at = *t
	case time.Time:
		at = t
	}
	return at
}

// clock is a time as the pages have it without scripts.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// timeOf is an element with a time. A script shows it in the zone of the browser.
func timeOf(t time.Time) template.HTML {
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, t.UTC().Format("2006-01-02T15:04:05Z"), clock(t))) // no name is in it
}

// timed is a text of the pages with a time for its only argument, as age takes it.
func timed(lang, text string, t any) template.HTML {
	return template.HTML(strings.Replace(template.HTMLEscapeString(translate(lang, text)), "%s", string(timeOf(timeIn(t))), 1))
}
