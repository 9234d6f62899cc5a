package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
)

// Pool are the devices of a node that resource claims give.
type Pool struct {
	Cards      []string // the card of each device: they are named gpu-0, gpu-1 and so on
	generation int64
	slices     []*resourcev1.ResourceSlice
}

// Gives returns the cards of the devices, none while the node is lost.
func (p *Pool) Gives() []string {
	if p == nil || len(p.slices) == 0 {
		return nil
	}
	return p.Cards
}

// Claim is a resource claim.
type Claim struct {
	Name, Namespace string
	Text            string // its requests
	Template        bool   // it was made for one pod
	Deleted         bool   // it stays for its pods alone
	Node            string // of the devices that are allocated, "" before
	Devices         []int  // the devices of this node that are allocated
	Object          *resourcev1.ResourceClaim
}

// ParseClaim reads the requests of a claim, such as 2xA|B;allxC+1xD: each request has alternatives.
func ParseClaim(text string) (requests []oracle.ClaimRequest, err error) {
	for _, request := range strings.Split(text, "+") {
		var alternatives oracle.ClaimRequest
		for _, part := range strings.Split(request, ";") {
			count, cards, ok := strings.Cut(part, "x")
			n, err := strconv.Atoi(count)
			if count == "all" {
				n, err = 0, nil
			} else if n < 1 {
				ok = false
			}
			if err != nil || !ok || cards == "" {
				return nil, fmt.Errorf("%s is no number of cards, such as 2xA|B", part)
			}
			alternatives = append(alternatives, oracle.ClaimAlternative{Count: n, Cards: strings.Split(cards, "|")})
		}
		requests = append(requests, alternatives)
	}

	return requests, nil
}

// claimed checks a list of the requests of claims.
func (w *words) claimed(text string) {
	for _, claim := range strings.Split(text, ",") {
		if _, err := ParseClaim(claim); err != nil {
			w.fail("%v", err)
		}
	}
}

// ofDevices reads a command of devices or claims.
func (w *words) ofDevices() Deed {
	switch w.command {
	case "devices":
		return w.devices()
	case "claim":
		return w.claim()
	}

	d := DeleteClaim{Name: w.next("a name")}
	w.each(func(key, value string) bool {
		if key == "namespace" {
			d.Namespace = value
		}
		return key == "namespace"
	})
	return d
}

// devices reads the command of devices.
func (w *words) devices() Deed {
	d := SetDevices{Node: w.next("a node")}
	names, numbers, err := pairs(w.next("cards"))
	if err != nil {
		w.fail("%v", err)
	}
	for i, name := range names {
		for range w.number(numbers[i]) {
			d.Cards = append(d.Cards, name)
		}
	}

	w.each(func(key, value string) bool {
		if key == "old" {
			d.Old = w.flag(value)
		}
		return key == "old"
	})
	return d
}

// String is the command.
func (d SetDevices) String() string {
	var all []string
	for i := 0; i < len(d.Cards); {
		n := 1
		for i+n < len(d.Cards) && d.Cards[i+n] == d.Cards[i] {
			n++
		}
		all = append(all, fmt.Sprintf("%s:%d", d.Cards[i], n))
		i += n
	}

	text := "devices " + d.Node + " " + cmp.Or(strings.Join(all, ","), none)
	if d.Old {
		text += " old"
	}

	return text
}

// claim reads the command of a claim.
func (w *words) claim() Deed {
	d := MakeClaim{Name: w.next("a name"), Requests: w.next("what it requests")}
	w.claimed(d.Requests)
	w.each(func(key, value string) bool {
		if key == "namespace" {
			d.Namespace = value
		}
		return key == "namespace"
	})
	return d
}

// String is the command.
func (d MakeClaim) String() string {
	return "claim " + d.Name + " " + d.Requests + inNamespace(d.Namespace)
}

// String is the command.
func (d DeleteClaim) String() string { return "delete-claim " + d.Name + inNamespace(d.Namespace) }

func inNamespace(name string) string {
	if name == "" {
		return ""
	}
	return field("namespace", name)
}

func (d SetDevices) apply(w *World) {
	pool := w.Pools[d.Node]
	if n := w.Nodes[d.Node]; n == nil || n.Lost || pool == nil && d.Old {
		return
	}

	if pool == nil {
		pool = &Pool{}
		w.Pools[d.Node] = pool
	}

	pool.publish(d.Node, d.Cards, d.Old)
}

func (d MakeClaim) apply(w *World) {
	namespace := cmp.Or(d.Namespace, cluster.Namespace)
	if w.Claim(namespace, d.Name) == nil {
		w.addClaim(&Claim{Name: d.Name, Namespace: namespace, Text: d.Requests})
	}
}

func (d DeleteClaim) apply(w *World) {
	if c := w.Claim(cmp.Or(d.Namespace, cluster.Namespace), d.Name); c != nil {
		c.Deleted = true
		if c.Node == "" {
			w.Claims = slices.DeleteFunc(w.Claims, func(other *Claim) bool { return other == c })
		}
	}
}

// Claim returns a claim, nil for none.
func (w *World) Claim(namespace, name string) *Claim {
	for _, c := range w.Claims {
		if c.Namespace == namespace && c.Name == name {
			return c
		}
	}
	return nil
}
