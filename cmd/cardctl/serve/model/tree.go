package model

import (
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/index"
)

// tree finds the relatives of queues.
type tree struct {
	byName   map[string]*queues.Queue
	children map[string]int
	leaves   []*queues.Queue
}

func newTree(all []queues.Queue) *tree {
	t := &tree{byName: map[string]*queues.Queue{}, children: map[string]int{}}
	for i := range all {
		t.byName[all[i].Queue] = &all[i]
		t.children[all[i].Parent]++
	}

	for i := range all {
		if t.children[all[i].Queue] == 0 {
			t.leaves = append(t.leaves, &all[i])
		}
	}
	return t
}

// path returns a queue and the queues above it, the nearest first.
func (t *tree) path(queue string) []string {
	return slices.Collect(index.Upward(queue, func(name string) string {
		if parent := t.byName[t.byName[name].Parent]; parent != nil {
			return parent.Queue
		}
		return ""
	}))
}

// ancestors returns the queues above a queue, the nearest first.
func (t *tree) ancestors(q *queues.Queue) []string { return t.path(q.Queue)[1:] }

// Row is a queue of a page.
type Row struct {
	*queues.Queue
	Children int
	Open     bool     // its children follow
	Path     []string // its ancestors, the root first, where the rows are no tree
}

// Selection selects the rows of a page.
type Selection struct {
	Search string // a part of a name
	// Resource selects queues that have it, or a bound of it.
	Resource string
	// Full, Borrowing and Waiting select queues that use all of a resource, have more than
	// they deserve, or have jobs that wait.
	Full, Borrowing, Waiting bool
	Opened, Closed           []string // queues that are not as the page opens them
	All                      bool     // opens all queues
	// Sort orders the rows by a key of Orders, the highest value first. Then they are no tree.
	Sort string
}

// Flat reports whether the rows are single queues instead of a tree.
func (s *Selection) Flat() bool {
	return s.Search != "" || s.Full || s.Borrowing || s.Waiting || Orders[s.Sort] != nil
}

// mostOpen bounds the rows of a tree that is opened without a request.
const mostOpen = 60

// Rows returns the queues of a selection. With a filter or an order they are single queues. Otherwise they are a tree,
// with the children of open queues only.
func Rows(all []queues.Queue, s Selection) []Row {
	all = Having(all, s.Resource)
	t := newTree(all)
	rows := []Row{}

	if s.Flat() {
		for i := range all {
			if q := &all[i]; s.selects(q) {
				path := t.ancestors(q)
				slices.Reverse(path)
				rows = append(rows, Row{Queue: q, Children: t.children[q.Queue], Path: path})
			}
		}
		s.sort(rows)
		return rows
	}

	depth := openDepth(all)
	open := map[string]bool{}
	for i := range all {
		q := &all[i]
		if t.byName[q.Parent] != nil && !open[q.Parent] {
			continue
		}

		row := Row{Queue: q, Children: t.children[q.Queue]}
		opened := s.All || q.Depth < depth || slices.Contains(s.Opened, q.Queue)
		row.Open = opened && row.Children > 0 && !slices.Contains(s.Closed, q.Queue)
		open[q.Queue] = row.Open
		rows = append(rows, row)
	}
	return rows
}

// openDepth returns the depth down to which all levels have room on a page. The first level is
// always open.
func openDepth(all []queues.Queue) int {
	at := map[int]int{}
	deepest := 0
	for i := range all {
		at[all[i].Depth]++
		deepest = max(deepest, all[i].Depth)
	}

	rows := at[0]
	for depth := 1; depth <= deepest; depth++ {
		rows += at[depth]
		if rows > mostOpen {
			return max(1, depth-1)
		}
	}
	return deepest
}

func (s *Selection) selects(q *queues.Queue) bool {
	return strings.Contains(strings.ToLower(q.Queue), strings.ToLower(s.Search)) &&
		(!s.Waiting || q.Waiting > 0) &&
		(!s.Full || useOf(q, s.Resource) >= 1) &&
		(!s.Borrowing || borrowedBy(q, s.Resource) > 0)
}

// Subtree returns a queue and the queues below it, none if there is no such queue.
func Subtree(all []queues.Queue, name string) []queues.Queue {
	t := newTree(all)
	return slices.DeleteFunc(slices.Clone(all), func(q queues.Queue) bool {
		return !slices.Contains(t.path(q.Queue), name)
	})
}

// Leaves returns the queues without children.
func Leaves(all []queues.Queue) map[string]bool {
	names := map[string]bool{}
	for _, q := range newTree(all).leaves {
		names[q.Queue] = true
	}
	return names
}

// HasChildren reports whether there are queues below a queue.
func HasChildren(all []queues.Queue, name string) bool {
	return slices.ContainsFunc(all, func(q queues.Queue) bool { return q.Parent == name && q.Queue != name })
}

// Parts splits a queue, or all queues for "", into queues that are not below each other. Only queues that has selects
// count. The parts are the deepest level with at most the given number of queues, and the leaves of upper levels.
// If the first level has more queues, the parts are the first level.
func Parts(all []queues.Queue, name string, has func(queue string) bool, most int) []string {
	t := newTree(all)
	children := map[string][]string{}
	for i := range all {
		q := &all[i]
		if !has(q.Queue) || q.Parent == q.Queue {
			continue
		}

		parent := q.Parent
		if t.byName[parent] == nil {
			parent = ""
		}
		children[parent] = append(children[parent], q.Queue)
	}

	parts := []string{name}
	// The number of queues bounds the levels: broken queues can be above themselves.
	for range all {
		var next []string
		for _, part := range parts {
			if below := children[part]; len(below) > 0 {
				next = append(next, below...)
			} else {
				next = append(next, part)
			}
		}

		if slices.Equal(next, parts) || len(parts) > 1 && len(next) > most {
			break
		}
		parts = next
	}

	if name == "" && slices.Equal(parts, []string{""}) {
		return nil
	}
	return parts
}

// Groups assigns each of some queues to a group: the queue itself, or the ancestor that stands for it. All groups are
// on one level, or leaves above it. It is the deepest level with at most the given number of groups, or the first
// level. The levels begin below the chosen queue, or below the root if none is chosen. Queues that are not below the
// chosen queue have no group.
func Groups(all []queues.Queue, chosen string, names []string, most int) map[string]string {
	paths, deepest := pathsBelow(all, chosen, names)

	var groups map[string]string
	for level := range deepest {
		at := map[string]string{}
		distinct := map[string]bool{}
		for name, path := range paths {
			at[name] = path[min(level, len(path)-1)]
			distinct[at[name]] = true
		}
		if level > 0 && len(distinct) > most {
			break
		}
		groups = at
	}
	return groups
}

// pathsBelow returns the path below the chosen queue, or below the root, down to each of some queues, and the length of
// the longest path. The path of the chosen queue itself is this queue.
func pathsBelow(all []queues.Queue, chosen string, names []string) (paths map[string][]string, longest int) {
	t := newTree(all)
	paths = map[string][]string{}
	for _, name := range names {
		if t.byName[name] == nil {
			continue
		}
		path := t.path(name)
		slices.Reverse(path)

		top := chosen
		if top == "" && t.children[path[0]] > 0 {
			top = path[0]
		}
		if at := slices.Index(path, top); at >= 0 || top == "" {
			paths[name] = path[min(at+1, len(path)-1):]
			longest = max(longest, len(paths[name]))
		}
	}
	return paths, longest
}
