package card_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/capacity-card/capacity-card/index/card"
)

// A node has six whole cards, and two more cards in MIG parts.
func ExampleDiscover() {
	inventory := card.Discover(map[string]string{
		"nvidia.com/gpu.product": "NVIDIA-H200",
		"nvidia.com/gpu.count":   "8",
	}, v1.ResourceList{
		"cpu":                    resource.MustParse("128"),
		"nvidia.com/gpu":         resource.MustParse("6"),
		"nvidia.com/mig-1g.18gb": resource.MustParse("14"),
	}, nil)
	for _, c := range inventory.Cards {
		fmt.Println(c.Milli.Cards(), c.Name, "requested as", c.Resource)
	}
	// Output:
	// 6 NVIDIA-H200 requested as nvidia.com/gpu
	// 14 NVIDIA-H200/mig-1g.18gb-mixed requested as nvidia.com/mig-1g.18gb
}

func ExampleParseList() {
	for _, text := range []string{"NVIDIA-H200", "NVIDIA-H200 | NVIDIA-H800|NVIDIA-H200", " "} {
		list := card.ParseList(text)
		fmt.Println(len(list), list)
	}
	// Output:
	// 1 NVIDIA-H200
	// 2 NVIDIA-H200|NVIDIA-H800
	// 0
}

// One key is bad. The other keys count.
func ExampleParseQuota() {
	entries, problems := card.ParseQuota(`{"NVIDIA-H200": 8, "NVIDIA-H800": 2.5, "NVIDIA-H200/mig-1g.18gb-mixed": 14}`)
	for _, e := range entries {
		fmt.Println(e.Cards, e.Name)
	}
	for _, p := range problems {
		fmt.Println(p)
	}
	// Output:
	// 8 NVIDIA-H200
	// 14 NVIDIA-H200/mig-1g.18gb-mixed
	// "NVIDIA-H800": 2.5 is not a whole number of cards
}
