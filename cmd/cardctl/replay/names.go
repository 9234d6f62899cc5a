package replay

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/trace"
)

// Names maps the names of a trace to names of the cluster. The key "*" stands for all other names.
type Names struct {
	Queues map[string]string `json:"queues"`
	Cards  map[string]string `json:"cards"`
}

// ReadNames reads a file with names.
func ReadNames(file string) (*Names, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}

	n := &Names{}
	if err := yaml.UnmarshalStrict(text, n); err != nil {
		const expected = "expected the keys queues and cards, each with names of the trace and names of the cluster"
		return nil, fmt.Errorf("%s: %s: %s", file, strings.Join(strings.Fields(err.Error()), " "), expected)
	}

	return n, nil
}

// Apply changes the names of the queues and cards of jobs.
func (n *Names) Apply(jobs []trace.Job) {
	for i := range jobs {
		job := &jobs[i]
		job.Queue = mapped(n.Queues, job.Queue)

		// A card can map to a list of cards.
		var list []string
		for _, name := range card.ParseList(job.Card) {
			list = append(list, mapped(n.Cards, name))
		}
		job.Card = card.ParseList(strings.Join(list, "|")).String()

		// The key "" stands for any card.
		all, ok := n.Cards[""]
		if ok && len(list) == 0 && job.Cards > 0 {
			job.Card = all
		}
	}
}

func mapped(names map[string]string, name string) string {
	if other, ok := names[name]; ok {
		return other
	}
	return cmp.Or(names["*"], name)
}
