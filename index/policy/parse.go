package policy

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/capacity-card/capacity-card/index/card"
)

// WantDuration describes a valid duration, also of an argument.
const WantDuration = "a duration of 0 or more, such as 30m"

// The descriptions of other valid values.
const (
	wantCount   = "a whole number above 0"
	wantFactor  = "a number above 0 with at most 3 decimals, such as 1.5"
	wantBudgets = `a JSON object of cards and hours per window, such as {"NVIDIA-H200": "5000h/30d"}`
	wantFlag    = "true or false"
	wantCards   = `a JSON object of cards and whole numbers, such as {"NVIDIA-H200": 8}`
	wantHolders = `a JSON object of namespace, user, group or label:<name>, of values or *, ` +
		`and of cards and resources, such as {"user": {"*": {"NVIDIA-H200": 8, "cpu": "64"}}}`
)

func parseCount(v *Value, text string) bool {
	n, err := strconv.ParseInt(text, 10, 32)
	v.Count = int(n)
	return err == nil && n > 0
}

// factor is a decimal number. Exponents, signs, infinity and hexadecimal digits, which
// package strconv also accepts, are most likely mistakes.
var factor = regexp.MustCompile(`^([0-9]{1,9})(?:\.([0-9]{1,3}))?$`)

// parseFactor parses a factor in thousandths, so that products with whole cards are exact.
func parseFactor(v *Value, text string) bool {
	parts := factor.FindStringSubmatch(text)
	if parts == nil {
		return false
	}

	milli, err := strconv.ParseInt(parts[1]+(parts[2] + "000")[:3], 10, 64)
	v.Milli = milli
	return err == nil && milli > 0
}

// ParseDuration parses a duration such as "30m".
func ParseDuration(text string) (d time.Duration, ok bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}

func parseDuration(v *Value, text string) (ok bool) {
	v.Duration, ok = ParseDuration(text)
	return ok
}

func parseFlag(v *Value, text string) bool {
	flag, err := strconv.ParseBool(text)
	v.Flag = flag
	return err == nil
}

// parseCards parses cards. One bad key makes the whole annotation wrong.
func parseCards(v *Value, text string) bool {
	entries, problems := card.ParseQuota(text)
	v.Cards = entries
	return len(problems) == 0
}

// ParseResources parses a JSON object of resources and quantities of 0 or more.
func ParseResources(text string) (list v1.ResourceList, ok bool) {
	var texts map[v1.ResourceName]json.RawMessage
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &texts) != nil {
		return nil, false
	}

	list = v1.ResourceList{}
	for name, raw := range texts {
		list[name], ok = parseQuantity(string(raw))
		if !ok {
			return nil, false
		}
	}

	return list, true
}

// parseQuantity parses a quantity in JSON that is 0 or more, and fits in the vectors of resources.
func parseQuantity(text string) (quantity resource.Quantity, ok bool) {
	if card.LongExponent([]byte(text)) {
		return quantity, false
	}

	err := json.Unmarshal([]byte(text), &quantity)
	return quantity, err == nil && quantity.Sign() >= 0 && card.Fits(quantity)
}
