package oracle

import "slices"

// A resource claim has the same devices for all pods that refer to it.

// DeviceClaims are resource claims by name.
type DeviceClaims map[string]Amounts

// Plain is a task with claims and the queue that it runs in.
type Plain struct {
	Queue  string
	Claims []string
}

// Devices returns the devices of the tasks in a queue and below. Each claim counts once.
func (o *Oracle) Devices(name string, claims DeviceClaims, running []Plain) Amounts {
	var held []string
	for _, task := range running {
		for _, claim := range task.Claims {
			if o.within(task.Queue, name) && !slices.Contains(held, claim) {
				held = append(held, claim)
			}
		}
	}

	sum := Amounts{}
	for _, claim := range held {
		sum = sum.Plus(claims[claim])
	}

	return sum
}

// DeviceClaimsFit returns the lowest queue, from the task's up, that refuses one more task by its
// quotas of devices, or "". quotas has the quotas of a queue by key. class returns the key of the
// count of devices.
func (o *Oracle) DeviceClaimsFit(task Plain, claims DeviceClaims, running []Plain,
	quotas map[string]Amounts, class func(key string) string) string {
	return o.first(task.Queue, func(q string) bool {
		before := o.Devices(q, claims, running)
		after := o.Devices(q, claims, append(slices.Clone(running), task))
		return slices.ContainsFunc(after.requested(), func(d string) bool {
			return after[d] > before[d] && after[d] > DeviceBound(quotas[q], d, class)
		})
	})
}

// DeviceBound returns the bound of devices that a queue's quotas set: none if they do not name
// the class, and none of the count if they name capacities alone.
func DeviceBound(quotas Amounts, key string, class func(string) string) float64 {
	if quota, ok := quotas[key]; ok && (quota > 0 || key != class(key)) {
		return quota
	}

	for named := range quotas {
		if class(named) == class(key) && key != class(key) {
			return 0
		}
	}

	return Unlimited
}
