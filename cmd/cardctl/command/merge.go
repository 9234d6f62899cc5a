package command

import (
	"bytes"
	"encoding/json"
	"slices"
)

// merged is the results of several clusters as one.
type merged struct {
	tables    []*table
	texts     []clusterText
	documents documents
}

// clusterText is the texts of a cluster.
type clusterText struct{ cluster, text string }

// add adds a result of a cluster.
func (m *merged) add(cluster string, r *result) {
	if r.data != nil {
		m.documents = append(m.documents, documentOf{cluster: cluster, data: r.data})
	}
	if r.rows != nil {
		m.addTable(cluster, r.rows)
		return
	}

	last := len(m.texts) - 1
	if last >= 0 && m.texts[last].cluster == cluster {
		m.texts[last].text += "\n" + r.text
		return
	}
	m.texts = append(m.texts, clusterText{cluster, r.text})
}

// addTable adds the rows to the table with the same columns. The first column is the cluster. A column is printed if
// one cluster prints it.
func (m *merged) addTable(cluster string, t *table) {
	at := slices.IndexFunc(m.tables, func(other *table) bool {
		return slices.EqualFunc(other.columns[1:], t.columns, func(a, b column) bool { return a.name == b.name })
	})
	if at < 0 {
		// A queue of the same name can follow in the next cluster.
		first := column{name: "CLUSTER", once: slices.ContainsFunc(t.columns, func(c column) bool { return c.once })}
		m.tables = append(m.tables, &table{columns: slices.Concat([]column{first}, t.columns)})
		at = len(m.tables) - 1
	}

	into := m.tables[at]
	for i, c := range t.columns {
		into.columns[i+1].gone = into.columns[i+1].gone && c.gone
	}
	for _, row := range t.rows {
		into.rows = append(into.rows, slices.Concat([]string{cluster}, row))
	}
}

// results returns the results to print in a format: the tables first, then the texts, each below the name of the
// cluster.
func (m *merged) results(format string) (all []*result) {
	if isData(format) {
		return []*result{{data: m.documents}}
	}

	for _, t := range m.tables {
		all = append(all, &result{rows: t})
	}
	for _, t := range m.texts {
		all = append(all, &result{text: "Cluster " + t.cluster + ":\n" + t.text})
	}
	return all
}

// documents are the documents that a command makes of several clusters. As JSON they are one document: its lists have
// the items of all clusters, each with the field cluster. The list clusters has the other fields of each document, or
// the error of a cluster that could not be read.
type documents []documentOf

type documentOf struct {
	cluster string
	data    any   // an object
	err     error // there is no data
}

// itemFields are the fields with items of a cluster.
var itemFields = []string{"items", "cards", "nodes", "queues", "unlabeled", "lost"}

// MarshalJSON returns the document.
func (d documents) MarshalJSON() ([]byte, error) {
	whole := map[string]any{}
	clusters := []map[string]any{}
	for _, each := range d {
		about := map[string]any{"cluster": each.cluster}
		clusters = append(clusters, about)
		if each.err != nil {
			about["error"] = each.err.Error()
			continue
		}

		err := each.addTo(whole, about)
		if err != nil {
			return nil, err
		}
	}

	whole["clusters"] = clusters
	var text bytes.Buffer
	err := printData(&text, asJSON, whole, true)
	return text.Bytes(), err
}

// addTo adds the items to the lists of the whole document, and the other fields to the entry about the cluster.
func (d documentOf) addTo(whole, about map[string]any) error {
	fields, err := fieldsOf(d.data)
	if err != nil {
		return err
	}

	for name, value := range fields {
		switch {
		case name == "kind" || name == "version":
			whole[name] = value
		case slices.Contains(itemFields, name):
			items, err := itemsWith(d.cluster, value)
			if err != nil {
				return err
			}
			all, is := whole[name].([]json.RawMessage)
			if !is {
				all = []json.RawMessage{} // a list without items is no null
			}
			whole[name] = append(all, items...)
		default:
			about[name] = value
		}
	}
	return nil
}

// fieldsOf returns the fields of an object as JSON.
func fieldsOf(object any) (map[string]json.RawMessage, error) {
	var text bytes.Buffer
	err := printData(&text, asJSON, object, true)
	if err != nil {
		return nil, err
	}

	fields := map[string]json.RawMessage{}
	err = json.Unmarshal(text.Bytes(), &fields)
	return fields, err
}

// itemsWith returns the items of a list, each with the field cluster. Items are objects with fields.
func itemsWith(cluster string, list json.RawMessage) ([]json.RawMessage, error) {
	var items []json.RawMessage
	err := json.Unmarshal(list, &items)
	if err != nil {
		return nil, err
	}

	name, err := json.Marshal(cluster)
	for i, item := range items {
		rest := bytes.TrimPrefix(item, []byte("{"))
		items[i] = slices.Concat([]byte(`{"cluster":`), name, []byte(","), rest)
	}
	return items, err
}
