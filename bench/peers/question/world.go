// Package question puts the questions of bench/peers to the quota engines of several
// schedulers, and measures their answers. It knows no engine. Each engine is in a module of its own in
// bench/peers, with the Kubernetes that its scheduler needs.
package question

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// The request of a job for each of its cards, in addition to the card.
const (
	CPU    = 4000     // milliCPU
	Memory = 32 << 30 // bytes
)

// World is the file that bench/workload writes; type Shared there describes its fields.
type World struct {
	Models   []string
	Nodes    []Node
	Queues   []Queue
	Running  []Job
	Waiting  []Job
	Pairs    [][2]string
	Reclaims []Reclaim
}

// Node is a node with cards of one model.
type Node struct {
	Name, Model string
	Cards       int64
}

// Queue is a queue with whole cards of each model.
type Queue struct {
	Name, Parent    string
	Leaf            bool
	Deserved, Quota int64
}

// Job is one pod. Fits is the answer for a waiting one.
type Job struct {
	Name, Queue, Model string
	Cards              int64
	Node               string
	Fits               bool
}

// Reclaim is a waiting job of a queue below deserved. The parent of the queue is full. Victims must be
// in the queue From. If the jobs Gone end, the job fits.
type Reclaim struct {
	Job, From string
	Gone      []string
}

// File returns the path of the world with a number of queues.
func File(dir string, queues int) string {
	return filepath.Join(dir, "queues-"+strconv.Itoa(queues)+".json")
}

func read(dir string, queues int) (*World, error) {
	text, err := os.ReadFile(File(dir, queues))
	if err != nil {
		return nil, err
	}

	w := &World{}
	if err := json.Unmarshal(text, w); err != nil {
		return nil, fmt.Errorf("reading a world: %w", err)
	}
	return w, nil
}
