package screen

import (
	"cmp"

	"github.com/charmbracelet/bubbles/key"

	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
)

// order is an order of the queues. Equal queues stay in the order of the tree.
type order struct {
	key     key.Binding
	name    string
	compare func(a, b *queues.Queue) int // nil for the order of the tree
}

// orders are the orders. The first one is the order of the tree.
var orders = []order{
	{bind("t", "t", "tree"), "tree", nil},
	{bind("n", "n", "name"), "name", func(a, b *queues.Queue) int { return cmp.Compare(a.Queue, b.Queue) }},
	{bind("s", "s", "share"), "share", func(a, b *queues.Queue) int { return cmp.Compare(b.Share, a.Share) }},
	{bind("w", "w", "waiting"), "waiting jobs", func(a, b *queues.Queue) int {
		return cmp.Compare(b.Waiting, a.Waiting)
	}},
	{bind("u", "u", "use"), "use", func(a, b *queues.Queue) int { return cmp.Compare(b.Use(), a.Use()) }},
}

func bind(keys, shown, what string, more ...string) key.Binding {
	return key.NewBinding(key.WithKeys(append(more, keys)...), key.WithHelp(shown, what))
}

// The keys that are not keys of orders. Keys without a help text are as in less and vi.
var (
	up        = bind("up", "↑↓", "scroll", "k")
	down      = bind("down", "", "", "j")
	pageUp    = bind("pgup", "", "", "b", "ctrl+b")
	pageDown  = bind("pgdown", "", "", " ", "f", "ctrl+f")
	top       = bind("home", "", "", "g")
	bottom    = bind("end", "", "", "G")
	search    = bind("/", "/", "filter")
	clear     = bind("esc", "", "")
	accept    = bind("enter", "⏎", "open")
	back      = bind("esc", "esc", "back", "enter", "q")
	helpKey   = bind("?", "?", "keys")
	quit      = bind("q", "q", "quit")
	interrupt = bind("ctrl+c", "", "")
	suspend   = bind("ctrl+z", "", "")
)

// inHelp are the keys in the last line of the screen.
func inHelp() []key.Binding {
	keys := []key.Binding{quit, helpKey, accept, search}
	for _, o := range orders {
		keys = append(keys, o.key)
	}
	return keys
}
