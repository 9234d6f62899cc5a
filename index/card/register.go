package card

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Device is a card that a node registers.
type Device struct {
	UUID   string
	Number v1.ResourceName // see Sharing
	Card   string
	Model
	healthy bool
}

// maxDevices bounds the number of devices of a node.
const maxDevices = 1024

// OnNode returns the cards of a node: the cards that Discover finds, and the cards that the node registers. Registered
// cards replace others with the same resource. A node can register several models with one resource.
func OnNode(node *v1.Node, named Labels) Inventory {
	found := Discover(node.Labels, node.Status.Allocatable, named)

	for _, s := range Sharings {
		text, registered := node.Annotations[s.Register]
		if registered {
			found.register(node, s, text, named)
		}
	}

	return found
}

// register adds the devices of a node. If no device is valid, the node has the resource without a card.
func (i *Inventory) register(node *v1.Node, s Sharing, text string, named Labels) {
	devices, problem := parseDevices(text)
	if problem != "" {
		i.Problems = append(i.Problems, Problem{Key: s.Register, Reason: problem})
	}

	quantity, has := node.Status.Allocatable[s.Number]
	if len(devices) == 0 && !has {
		return
	}

	i.Cards = slices.DeleteFunc(i.Cards, func(c Card) bool { return c.Resource == s.Number })
	i.Unlabeled = slices.DeleteFunc(i.Unlabeled, func(u Unlabeled) bool { return u.Resource == s.Number })
	if len(devices) == 0 {
		i.Unlabeled = append(i.Unlabeled, Unlabeled{Resource: s.Number, Label: s.Register})
		slices.SortFunc(i.Unlabeled, Unlabeled.compare)
		return
	}

	nameByLabel(devices, node.Labels, named)
	for n := range devices {
		d := &devices[n]
		d.Number = s.Number

		at := slices.IndexFunc(i.Cards, func(c Card) bool { return c.Resource == s.Number && c.Name == d.Card })
		if at < 0 {
			at = len(i.Cards)
			i.Cards = append(i.Cards, Card{Name: d.Card, Resource: s.Number, Model: d.Model})
		}

		i.Cards[at].Model = i.Cards[at].Least(d.Model)
		if d.healthy && quantity.Sign() > 0 {
			i.Cards[at].Milli += whole
		}
	}
	slices.SortFunc(i.Cards, Card.compare)

	i.Devices = append(i.Devices, devices...)
	slices.SortFunc(i.Devices, Device.compare)
}

// Taken returns the charges of a pod for shared cards of the node. If its devices are not known, it counts for all
// models.
func (i Inventory) Taken(pod *v1.Pod, by FractionsBy) (all []Charge) {
	for _, f := range Fractions(pod) {
		find := func(uuid string) (Device, bool) { return i.Device(f.Number, uuid) }
		charges, ok := f.Exact(find, by)
		if !ok {
			for _, c := range i.Cards {
				if c.Resource == f.Number && c.Shared() {
					charges = append(charges, Charge{c.Name, f.On(c.Model, by), c.Model})
				}
			}
		}

		all = append(all, charges...)
	}

	return all
}

func (d Device) compare(other Device) int {
	return cmp.Or(cmp.Compare(d.Number, other.Number), cmp.Compare(d.UUID, other.UUID))
}

// Device returns the device of the node with a UUID.
func (i Inventory) Device(number v1.ResourceName, uuid string) (Device, bool) {
	return FindDevice(i.Devices, number, uuid)
}

// FindDevice returns the device with a UUID. The devices are sorted as OnNode sorts them.
func FindDevice(devices []Device, number v1.ResourceName, uuid string) (Device, bool) {
	at, has := slices.BinarySearchFunc(devices, Device{Number: number, UUID: uuid}, Device.compare)
	if !has {
		return Device{}, false
	}

	return devices[at], true
}

// nameByLabel gives devices of one model the name that the label of the node gives to whole cards. Then
// fractions and whole cards of the model have one account. The label of a node cannot name two models.
func nameByLabel(devices []Device, labels map[string]string, named Labels) {
	for _, d := range devices {
		if d.Card != devices[0].Card {
			return
		}
	}

	// The label of a node with time slices ends with -SHARED, and with MIG's strategy single it has the profile.
	product := strings.TrimSuffix(labels[named.on(labels, wholeNVIDIA)], "-SHARED")
	product, _, _ = strings.Cut(product, "-MIG-")
	if !plain(product) {
		return
	}

	for i := range devices {
		devices[i].Card = product
	}
}

// parseDevices parses a registration. Three formats are in use. Each states the number of containers that may
// share the device, its memory, its cores in percent, its type, and whether it is healthy:
//
//	UUID,number,memory,type,healthy,mode:…                   Volcano's vGPU
//	UUID,number,memory,cores,type,numa,healthy[,index,mode]:… HAMi
//	[{"id":"…","count":10,"devmem":…,"devcore":100,"type":"…","health":true}]
//
// Devices with the same UUID are one device. problem is the first reason to leave out a device.
func parseDevices(text string) (devices []Device, problem string) {
	registered, problem := splitDevices(text)
	if len(registered) == 0 {
		return nil, cmp.Or(problem, "it has no devices")
	}

	seen := sets.New[string]()
	for _, r := range registered {
		name, reason := r.card(seen.Has(r.ID))
		if reason == "" && len(devices) == maxDevices {
			reason = fmt.Sprintf("it has more than %d devices", maxDevices)
		}
		if reason != "" {
			problem = cmp.Or(problem, reason)
			continue
		}

		seen.Insert(r.ID)
		cores := r.Cores
		if cores <= 0 || cores > math.MaxUint32 {
			cores = 100
		}
		devices = append(devices, Device{
			UUID:    r.ID,
			Card:    name,
			Model:   Model{uint32(r.Memory), uint32(cores)},
			healthy: r.Health,
		})
	}

	return devices, problem
}

// registered is one device of a registration as it is written.
type registered struct {
	ID     string `json:"id"`
	Memory int64  `json:"devmem"`
	Cores  int64  `json:"devcore"`
	Type   string `json:"type"`
	Health bool   `json:"health"`
}

// card returns the name of the card that a device is, or the reason to leave out the device. repeated: another device
// has its UUID.
func (r registered) card(repeated bool) (name, reason string) {
	name = cardOfType(r.Type)
	switch {
	case r.ID == "" || len(r.ID) > 253 || repeated:
		reason = fmt.Sprintf("the device %q has no UUID of its own", cut(r.ID))
	case r.Memory <= 0 || r.Memory > math.MaxUint32:
		reason = fmt.Sprintf("the memory of the device %q is not a number above 0", cut(r.ID))
	case name == "":
		reason = fmt.Sprintf("the type %q of the device %q names no card", cut(r.Type), cut(r.ID))
	}

	return name, reason
}

func splitDevices(text string) (devices []registered, problem string) {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		err := json.Unmarshal([]byte(text), &devices)
		if err != nil {
			return nil, "it is not a list of devices in JSON: " + cut(err.Error())
		}
		return devices, ""
	}

	for device := range strings.SplitSeq(text, ":") {
		if strings.TrimSpace(device) == "" {
			continue
		}

		var r registered
		var healthy string
		f := strings.Split(device, ",")
		switch len(f) {
		case 5, 6: // Volcano; without the mode in old releases
			r.ID = f[0]
			r.Memory = number(f[2])
			r.Type = f[3]
			healthy = f[4]
		case 7, 9: // HAMi
			r.ID = f[0]
			r.Memory = number(f[2])
			r.Cores = number(f[3])
			r.Type = f[4]
			healthy = f[6]
		default:
			return nil, fmt.Sprintf("the device %q has %d fields", cut(device), len(f))
		}

		r.Health, _ = strconv.ParseBool(healthy)
		devices = append(devices, r)
	}

	return devices, ""
}

// number parses a whole number. It returns 0 for any other text.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// cardOfType returns the name of the card that a registered type stands for, as the label of GPU feature
// discovery writes it. The type is the name in the driver, with "-" for space. The device plugin of Volcano
// always puts "NVIDIA-" in front, and HAMi's only if the name does not begin with it. It returns "" for a
// type that names no card.
//
// Source: github.com/NVIDIA/k8s-device-plugin, internal/lm/resource.go, sanitise.
func cardOfType(text string) string {
	const maxLabel = 63
	if len(text) > 253 {
		return ""
	}

	name := asLabel(strings.TrimPrefix(text, "NVIDIA-"))
	if len(name) > maxLabel || !plain(name) {
		return ""
	}

	return name
}
