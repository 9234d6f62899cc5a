// Package page draws the pages of "cardctl serve": templates, words in two languages, and
// assets. All is embedded, and names of the cluster are escaped by html/template.
package page

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/report"
)

//go:embed templates/*.html
var templates embed.FS

// Frame is a page: the common part of all pages, and the content of one.
type Frame struct {
	Name    string // of the template of the content
	Path    string
	Query   url.Values
	Accept  string  // the header Accept-Language
	User    string  // who is logged in, "" for none
	Queues  bool    // whether the viewer may see queues
	Objects Objects // the targets of links, nil for none
	Still   bool    // whether the page stays as it is when the cluster changes

	Base     string    // of the paths of all pages of the cluster among several, "" for one cluster
	Clusters []Cluster // to choose from, nil for one cluster

	Command string // for a terminal, "" for none
	Same    bool   // the command prints the same
	JSON    string // the path of the same as JSON

	Read time.Time // when the cluster was read
	// Unchanged is the first reading with the same objects, or when files were read. It is Read after a change.
	Unchanged time.Time
	Files     bool      // the objects come from files
	Error     string    // why the last reading failed
	Since     time.Time // when it began to fail
	Notes     []string  // warnings about the input
	Lacks     []string  // the content that is not shown because it cannot be listed
	// NoJobs, NoNodes: no number of jobs, or of cards, is known.
	NoJobs, NoNodes bool

	Body any
}

// Cluster is an entry of the choice of clusters.
type Cluster struct {
	Name, Base string
	Path       string // the same view, or the first one
	Current    bool   // the cluster of the page
	Away       bool   // the last reading failed
}

// contents are the names of the templates of contents.
var contents = []string{
	"overview", "queues", "queue", "waiting", "mine", "job", "cards", "lending", "whatif", "health", "audit",
	"history", "holders", "login", "error", "unread",
}

// sets has the templates of each language, by the name of the content.
var sets = parse()

func parse() map[string]map[string]*template.Template {
	all := map[string]map[string]*template.Template{}
	for _, language := range languages {
		base := template.Must(template.New("base.html").Funcs(functions(language)).ParseFS(templates,
			"templates/base.html", "templates/parts.html", "templates/names.html"))

		all[language] = map[string]*template.Template{}
		for _, name := range contents {
			page := template.Must(base.Clone())
			all[language][name] = template.Must(page.ParseFS(templates, "templates/"+name+".html"))
		}
	}
	return all
}

// functions are the functions of templates in a language.
func functions(language string) template.FuncMap {
	return template.FuncMap{
		"t":       func(text string, arguments ...any) string { return translate(language, text, arguments...) },
		"fill":    func(text string, arguments []any) string { return translate(language, text, arguments...) },
		"checks":  func(check any) string { return checks[fmt.Sprint(check)] },
		"hours":   format.CardHours,
		"count":   func(n int, things string) string { return count(language, n, things) },
		"rule":    rule,
		"holder":  func(h report.Holder) string { return holder(language, h) },
		"lead":    func(f *explain.Finding) string { return lead(language, f) },
		"inshort": func(f *explain.Finding) string { return inShort(language, f) },
		"advise":  func(text string) string { return advise(language, text) },
		"issue":   func(text string, f *explain.Finding) string { return issue(language, text, f) },
		"time":    timeOf,
		"timed":   func(text string, t any) template.HTML { return timed(language, text, t) },
		"age":     age,
		"amount":  explain.Amount,
		"tenths":  explain.Tenths,
		"number":  number,
		"value":   value,
		"setting": setting,
		"asset":   assetPath,
		"percent": percent,
		"join":    strings.Join,
		"short":   short,
		"word":    word,
		"dict":    dict,
		"add":     func(a, b int) int { return a + b },
	}
}

// Write writes a page. An error of a template leaves nothing half written.
func Write(w http.ResponseWriter, status int, f *Frame) error {
	var text bytes.Buffer
	if err := sets[f.Language()][f.Name].Execute(&text, f); err != nil {
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return err
	}

	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Add("Vary", "Accept-Language")
	w.Header().Set("Content-Language", f.Language())
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // the client is gone
	return nil
}

// nameList is the options of a field that suggests names.
var nameList = template.Must(template.New("names").Parse(`{{range .}}<option value="{{.}}"></option>{{end}}`))

// WriteNames writes names for the list of a field.
func WriteNames(w http.ResponseWriter, names []string) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return nameList.Execute(w, names)
}

// Language returns the language of the page: the query decides, then the browser.
func (f *Frame) Language() string {
	if given := f.Query.Get("lang"); slices.Contains(languages, given) {
		return given
	}
	return preferred(f.Accept)
}

// Views are the entries of the navigation, each with its key.
func (f *Frame) Views() []struct{ Name, Path, Title string } {
	if !f.Queues {
		return []struct{ Name, Path, Title string }{{"mine", "/", "Your jobs"}, {"waiting", "/waiting", "Waiting"}}
	}
	return []struct{ Name, Path, Title string }{
		{"overview", "/", "Overview"},
		{"queues", "/queues", "Queues"},
		{"waiting", "/waiting", "Waiting"},
		{"cards", "/cards", "Cards"},
		{"lending", "/lending", "Lending"},
		{"whatif", "/whatif", "What if"},
		{"health", "/health", "Health"},
		{"audit", "/audit", "Audit"},
		{"history", "/history", "History"},
		{"holders", "/holders", "Who has what"},
	}
}

// Title is the title of the content.
func (f *Frame) Title() string {
	for _, v := range f.Views() {
		if v.Name == f.Name {
			return v.Title
		}
	}

	switch f.Name {
	case "job":
		return "Job"
	case "queue":
		return "Queues"
	case "mine":
		return "Your jobs"
	case "login":
		return "Log in"
	}
	return "cardctl"
}

// headed is a content with a heading of its own, such as the name of a job.
type headed interface{ Heading() string }

// Heading is the heading of the page: the heading of the content, else the title.
func (f *Frame) Heading() string {
	if own, ok := f.Body.(headed); ok {
		return own.Heading()
	}
	return translate(f.Language(), f.Title())
}

// query is the query of a link: only the language stays.
func (f *Frame) query() url.Values {
	values := url.Values{}
	if f.Query.Has("lang") {
		values.Set("lang", f.Language())
	}
	return values
}

// Root is the address of a path without a query.
func (f *Frame) Root(path string) string { return f.Base + path }

// ClusterLink is the address of another cluster.
func (f *Frame) ClusterLink(c Cluster) string { return address(c.Base+c.Path, f.query()) }

// Link is the address of a view, with pairs of names and values as query.
func (f *Frame) Link(path string, pairs ...string) string {
	return address(f.Root(path), set(f.query(), pairs))
}

// JobLink is the address of the explanation of a job.
func (f *Frame) JobLink(namespace, podGroup string) string {
	return address(f.Root("/job/")+url.PathEscape(namespace)+"/"+url.PathEscape(podGroup), f.query())
}

// With is the address of this page with a changed query. An empty value removes a name.
func (f *Frame) With(pairs ...string) string {
	return address(f.Root(f.Path), set(f.own(), pairs))
}

// Self is the address of this page.
func (f *Frame) Self() string { return address(f.Root(f.Path), f.own()) }

// JSONLink is the address of this page as JSON.
func (f *Frame) JSONLink() string {
	values := f.own()
	values.Del("lang")
	return address(f.Root(f.JSON), values)
}

// Toggle is the address of this page with a value of a name added, or removed if it is there.
func (f *Frame) Toggle(name, value string, others ...string) string {
	values := f.own()

	if i := slices.Index(values[name], value); i >= 0 {
		values[name] = slices.Delete(slices.Clone(values[name]), i, i+1)
	} else {
		values[name] = append(slices.Clone(values[name]), value)
	}

	return address(f.Root(f.Path), set(values, others))
}

// Open is the address of this page with a queue opened or closed.
func (f *Frame) Open(queue string, isOpen bool) string {
	from, to := "close", "open"
	if isOpen {
		from, to = to, from
	}

	values := f.own()
	values[from] = slices.DeleteFunc(slices.Clone(values[from]), func(v string) bool { return v == queue })
	values[to] = append(slices.Clone(values[to]), queue)
	return address(f.Root(f.Path), values)
}

// own is the query of this page.
func (f *Frame) own() url.Values {
	values := url.Values{}
	for name, value := range f.Query {
		if name != "after" && len(value) > 0 {
			values[name] = value
		}
	}
	return values
}

func set(values url.Values, pairs []string) url.Values {
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Del(pairs[i])
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return values
}

func address(path string, values url.Values) string {
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// Other is the other language.
func (f *Frame) Other() string {
	if f.Language() == languages[0] {
		return languages[1]
	}
	return languages[0]
}

// dict makes a map of pairs of names and values, for templates with several arguments.
func dict(pairs ...any) map[string]any {
	all := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		all[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return all
}

// short is the name of an owner without its kind.
func short(owner string) string {
	if _, name, found := strings.Cut(owner, "/"); found {
		return name
	}
	return owner
}

// word is the first word of a text.
func word(text string) string {
	first, _, _ := strings.Cut(text, " ")
	return first
}

func number(x float64) string { return explain.Amount("", x) }

// value returns a number that may be missing, 0 for none.
func value(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}

// setting returns a value of the configuration as JSON has it, a text without its quotes.
func setting(value any) string {
	text, err := json.Marshal(value)
	if _, isText := value.(string); isText || err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// percent is a coordinate of a drawing.
func percent(x float64) string { return fmt.Sprintf("%.4g", x) }
