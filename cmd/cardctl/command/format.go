package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
)

// The output formats.
const (
	asTable = "table"
	asWide  = "wide"
	asJSON  = "json"
	asYAML  = "yaml"
	asName  = "name"

	// These formats have a text behind them: a template, or columns with their paths.
	asPath    = "jsonpath="
	asColumns = "custom-columns="
)

// formats are the formats of commands with tables.
var formats = []string{asTable, asWide, asJSON, asYAML, asPath, asColumns}

// named are the formats of commands that return objects of the cluster.
var named = []string{asTable, asWide, asJSON, asYAML, asName, asPath, asColumns}

// isData reports whether a format is for programs.
func isData(format string) bool {
	return format == asJSON || format == asYAML || format == asName ||
		strings.HasPrefix(format, asPath) || strings.HasPrefix(format, asColumns)
}

// checkFormat returns an error for a format that a command does not have.
func checkFormat(format string, known []string) error {
	kind, text, has := strings.Cut(format, "=")
	if has {
		kind += "="
	}
	if !slices.Contains(known, kind) {
		return fmt.Errorf("unknown output format %q: one of %s", format, strings.Join(known, ", "))
	}

	switch kind {
	case asPath:
		_, err := printers.NewJSONPathPrinter(text)
		return err
	case asColumns:
		_, err := columnsOf(text)
		return err
	}
	return nil
}

// list is a document with items.
type list struct {
	document.Head
	Items any `json:"items"`
}

// listOf returns a document with items of a kind.
func listOf(kind string, items any) *list { return &list{document.Of(kind), items} }

// printData prints a value in a format for programs.
func printData(out io.Writer, format string, value any, headers bool) error {
	switch {
	case format == asJSON:
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "    ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	case format == asYAML:
		text, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	}

	object, err := objectOf(value)
	if err != nil {
		return err
	}
	kind, text, _ := strings.Cut(format, "=")
	switch kind + "=" {
	case asPath:
		printer, err := printers.NewJSONPathPrinter(text)
		if err != nil {
			return err
		}
		printer.AllowMissingKeys(true)
		return printer.PrintObj(object, out)
	case asColumns:
		return printColumns(out, text, object, headers)
	}
	return printNames(out, object)
}

// objectOf returns a value as its JSON has it.
func objectOf(value any) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	return object, json.Unmarshal(text, &object.Object)
}

// itemsOf returns the items of a list, or the object itself if it is none.
func itemsOf(object *unstructured.Unstructured) []any {
	items, isList := object.Object["items"].([]any)
	if !isList {
		return []any{object.Object}
	}
	return items
}

// identity says which objects of the cluster the items of a list are about.
type identity struct{ kind, field string }

// identities are the identities of items, by the kind of the list.
var identities = map[string]identity{
	"QueueList":       {"Queue", "queue"},
	"UsageList":       {"Queue", "queue"},
	"BudgetList":      {"Queue", "queue"},
	"ExplanationList": {"PodGroup", "name"},
}

// printNames prints the names of the objects of a list, each once.
func printNames(out io.Writer, list *unstructured.Unstructured) error {
	about, ofObjects := identities[list.GetKind()]
	if !ofObjects {
		return fmt.Errorf("-o name: %s has no objects of the cluster", list.GetKind())
	}

	printed := map[string]bool{}
	for _, item := range itemsOf(list) {
		fields, _ := item.(map[string]any)
		name, _ := fields[about.field].(string)
		if printed[name] {
			continue
		}
		printed[name] = true

		object := &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: scheduling.GroupName + "/v1beta1", Kind: about.kind},
			ObjectMeta: metav1.ObjectMeta{Name: name},
		}
		if err := (&printers.NamePrinter{}).PrintObj(object, out); err != nil {
			return err
		}
	}
	return nil
}

// customColumn is a column of custom-columns.
type customColumn struct {
	header string
	path   *jsonpath.JSONPath
}

// columnsOf reads columns as kubectl has them: QUEUE:.queue,SHARE:.share.
func columnsOf(text string) (all []customColumn, err error) {
	for part := range strings.SplitSeq(text, ",") {
		header, path, has := strings.Cut(part, ":")
		if !has || header == "" || path == "" {
			return nil, fmt.Errorf("custom-columns: %q: want HEADER:PATH, such as QUEUE:.queue", part)
		}

		path = "{." + strings.TrimPrefix(strings.Trim(path, "{}"), ".") + "}"
		c := customColumn{header, jsonpath.New(header).AllowMissingKeys(true)}
		if err := c.path.Parse(path); err != nil {
			return nil, fmt.Errorf("custom-columns: %q: %w", part, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// printColumns prints a row for each item of a list.
func printColumns(out io.Writer, text string, list *unstructured.Unstructured, headers bool) error {
	columns, err := columnsOf(text)
	if err != nil {
		return err
	}

	var names []string
	for _, c := range columns {
		names = append(names, c.header)
	}
	t := tableOf(names...)
	for _, item := range itemsOf(list) {
		var row []string
		for _, c := range columns {
			cell, err := c.of(item)
			if err != nil {
				return err
			}
			row = append(row, cell)
		}
		t.rows = append(t.rows, row)
	}
	return t.print(out, asTable, headers)
}

// of returns the values at the path in an item.
func (c customColumn) of(item any) (string, error) {
	found, err := c.path.FindResults(item)
	if err != nil {
		return "", err
	}

	var texts []string
	for _, values := range found {
		for _, v := range values {
			texts = append(texts, fmt.Sprint(v.Interface()))
		}
	}
	if len(texts) == 0 {
		return "<none>", nil
	}
	return strings.Join(texts, ","), nil
}
