package plan

import (
	"cmp"
	"slices"
)

// cost is the loss that a set of victims causes.
type cost struct {
	broken  int
	classes []classCost // from the highest class down
	pods    int
}

// classCost is the loss in one class of victims.
type classCost struct {
	class int
	lost  int64
	pods  int
}

// add adds a victim. lost is the work that its eviction loses.
func (c *cost) add(class int, lost int64) {
	c.pods++

	at, known := slices.BinarySearchFunc(c.classes, class, func(x classCost, class int) int {
		return cmp.Compare(class, x.class)
	})
	if !known {
		c.classes = slices.Insert(c.classes, at, classCost{class: class})
	}
	c.classes[at].lost += lost
	c.classes[at].pods++
}

// compare returns a number below 0 if c loses less than d.
func (c *cost) compare(d *cost) int {
	if c.broken != d.broken {
		return cmp.Compare(c.broken, d.broken)
	}

	for i := range min(len(c.classes), len(d.classes)) {
		x := c.classes[i]
		y := d.classes[i]
		by := cmp.Or(cmp.Compare(x.class, y.class), cmp.Compare(x.lost, y.lost), cmp.Compare(x.pods, y.pods))
		if by != 0 {
			return by
		}
	}

	return cmp.Or(cmp.Compare(len(c.classes), len(d.classes)), cmp.Compare(c.pods, d.pods))
}
