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

// languages are the languages of the pages. Browsers that prefer another language get the first one.
var languages = []string{"en", "zh"}

var matcher = language.NewMatcher([]language.Tag{language.English, language.Chinese})

// preferred returns the language of the pages that a browser prefers.
func preferred(accept string) string {
	tags, _, err := language.ParseAcceptLanguage(accept)
	if err != nil {
		return languages[0]
	}

	_, i, _ := matcher.Match(tags...)
	return languages[i]
}

// translate returns a text of the pages in a language, with arguments. advise translates the texts that
// the commands have too.
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

// count returns a number of things. things is a plural with s.
func count(lang string, n int, things string) string {
	if lang == languages[0] && n == 1 {
		things = strings.TrimSuffix(things, "s")
	}
	return fmt.Sprintf("%d %s", n, translate(lang, things))
}

// age returns the time since t in short, such as 2h.
func age(t any) string { return duration.HumanDuration(time.Since(timeIn(t))) }

// timeIn returns the time of a value of one of the types that pages have for times.
func timeIn(t any) time.Time {
	switch t := t.(type) {
	case *metav1.Time:
		return t.Time
	case *time.Time:
		return *t
	case time.Time:
		return t
	}
	return time.Time{}
}

// clock returns a time as the pages show it without scripts.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// timeOf returns an element with a time. A script shows it in the zone of the browser.
func timeOf(t time.Time) template.HTML {
	const iso = "2006-01-02T15:04:05Z"
	// No name of the cluster is in it, which would need escapes.
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, t.UTC().Format(iso), clock(t)))
}

// timed returns a text of the pages with a time for its only argument, as age takes it.
func timed(lang, text string, t any) template.HTML {
	escaped := template.HTMLEscapeString(translate(lang, text))
	return template.HTML(strings.Replace(escaped, "%s", string(timeOf(timeIn(t))), 1))
}
