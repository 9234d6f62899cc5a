package command

import (
	"fmt"
	"slices"
)

// merged is the results of several clusters as one.
type merged struct {
	tables []*table
	texts  []clusterText
	// document has the lists of the documents of all clusters: each item has the field cluster. clusters has the other
	// fields of each document, or the error of a cluster that could not be read.
	document map[string]any
	clusters []map[string]any
}

// clusterText is the texts of a cluster.
type clusterText struct{ cluster, text string }

// add adds a result of a cluster: its data, or its rows or text.
func (m *merged) add(format, cluster string, r *result) error {
	if isData(format) {
		return m.addDocument(cluster, r.data)
	}
	if r.rows != nil {
		m.addTable(cluster, r.rows)
		return nil
	}

	last := len(m.texts) - 1
	if last >= 0 && m.texts[last].cluster == cluster {
		m.texts[last].text += "\n" + r.text
		return nil
	}
	m.texts = append(m.texts, clusterText{cluster, r.text})
	return nil
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

// itemFields are the fields with items of a cluster.
var itemFields = []string{"items", "cards", "nodes", "queues", "unlabeled", "lost"}

// addDocument adds the items of a document to the lists of the whole document. data is an object, and so are its items.
func (m *merged) addDocument(cluster string, data any) error {
	object, err := objectOf(data)
	if err != nil {
		return err
	}

	about := map[string]any{"cluster": cluster}
	m.clusters = append(m.clusters, about)
	for name, value := range object.Object {
		switch {
		case name == "kind" || name == "version":
			m.document[name] = value
		case slices.Contains(itemFields, name):
			all, is := m.document[name].([]any)
			if !is {
				all = []any{} // a list without items is no null
			}
			items, _ := value.([]any)
			for _, item := range items {
				fields, is := item.(map[string]any)
				if !is {
					return fmt.Errorf("%s: an item is no object", name)
				}
				fields["cluster"] = cluster
			}
			m.document[name] = append(all, items...)
		default:
			about[name] = value
		}
	}
	return nil
}

// results returns the results to print in a format: the document, or the tables first, then the texts, each below the
// name of the cluster.
func (m *merged) results(format string) (all []*result) {
	if isData(format) {
		m.document["clusters"] = m.clusters
		return []*result{{data: m.document}}
	}

	for _, t := range m.tables {
		all = append(all, &result{rows: t})
	}
	for _, t := range m.texts {
		all = append(all, &result{text: "Cluster " + t.cluster + ":\n" + t.text})
	}
	return all
}
