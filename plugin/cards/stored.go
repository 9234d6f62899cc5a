package cards

import (
	"maps"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// HeldCards are the cards that pods stay charged for although their node does not state them any more, by the UID of
// the pod. Only the running scheduler knows them.
type HeldCards map[types.UID][]HeldCard

// HeldCard is an amount of one card, requested through a resource.
type HeldCard struct {
	Resource v1.ResourceName `json:"resource"`
	Card     string          `json:"card"`
	Milli    card.Milli      `json:"milli"`
}

// mostHeld is the maximum number of pods of Held.
const mostHeld = 2000

// Held returns the held cards, of at most mostHeld pods in the order of their UIDs. It returns nil for none.
func (r *Registry) Held(names *index.Names) HeldCards {
	if len(r.held) == 0 {
		return nil
	}

	uids := slices.Sorted(maps.Keys(r.held))
	all := HeldCards{}
	for _, uid := range uids[:min(len(uids), mostHeld)] {
		for _, h := range r.held[uid] {
			all[uid] = append(all[uid], HeldCard{r.resources[h.resource], names.Name(h.dim), h.amount})
		}
	}
	return all
}

// HeldChanges counts the changes of the held cards.
func (r *Registry) HeldChanges() uint64 { return r.heldChanges }

// Begin gives pods the cards that another process has kept.
func (r *Registry) Begin(held HeldCards) {
	if !reflect.DeepEqual(r.stored, held) {
		r.stored = held
		r.begins = true
	}
}

// begin makes pods hold the stored cards.
func (s *Snapshot) begin() {
	reg := s.registry
	if !reg.begins {
		return
	}

	reg.begins = false
	reg.forgetRequests()
	clear(reg.held)
	for uid, stored := range reg.stored {
		for _, h := range stored {
			id := reg.resource(h.Resource)
			d := s.names.InternCard(h.Card)
			reg.held[uid] = append(reg.held[uid], heldCard{id, d, h.Milli, s.only(id, d)})
		}
	}
}
