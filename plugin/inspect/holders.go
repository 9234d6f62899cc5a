package inspect

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/quota"
)

// HolderLimit is a limit of a queue for a holder: a namespace, a user, a group, or a value of a label. Quantities are
// in whole cards.
type HolderLimit struct {
	Queue     string // with the limit
	Holder    quota.Holder
	Card      string // or a group of cards
	Limit     float64
	Allocated float64 // to the holder, in the queue and below
}

// HolderLimits returns the limits for cards that apply to a job, in its queue and above. The limits of a holder are in
// the order of the queues, from the job's queue up.
func (i Inspection) HolderLimits(job api.JobID) (all []HolderLimit) {
	account := i.s.Intake.AccountOf(job)
	if account == index.None {
		return nil
	}

	holders := &i.s.Intake.Holders.Quota
	for _, p := range holders.Accounts.Path(account) {
		place := holders.Place(p)
		if place.Queue == index.None { // a joint account has no limit
			continue
		}

		for d, limit := range i.s.Intake.Holders.CardLimits(i.s.Names, p) {
			all = append(all, HolderLimit{
				Queue:     i.s.Index.Name(place.Queue),
				Holder:    place.Holder,
				Card:      i.s.Names.Name(d),
				Limit:     format.Readable(d, limit),
				Allocated: format.Readable(d, holders.Accounts.AllocatedAt(p, d)),
			})
		}
	}
	return all
}

// HolderKeys returns the keys that any queue limits, such as user and label:team.
func (i Inspection) HolderKeys() []string {
	if i.s.Intake.Holders == nil {
		return nil
	}
	return i.s.Intake.Holders.Keys()
}
