package quota_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

func TestFences(t *testing.T) {
	ix := session("root", queue{name: "root"}, queue{name: "eng"}, queue{name: "prod<eng"}, queue{name: "dev<eng"}, queue{name: "web<prod"},
		queue{name: "db<prod"}, queue{name: "biz"})
	for name, test := range map[string]struct {
		fenced    []string
		separated [][2]string
		joined    [][2]string
	}{
		"none": {nil, nil, [][2]string{{"web", "biz"}, {"web", "db"}, {"web", "web"}}},
		"an inner queue": {[]string{"eng"}, [][2]string{{"web", "biz"}, {"dev", "biz"}, {"eng", "biz"}},
			[][2]string{{"web", "dev"}, {"web", "db"}, {"web", "eng"}, {"biz", "biz"}}},
		"two, one below the other": {[]string{"eng", "prod"}, [][2]string{{"web", "dev"}, {"web", "biz"}, {"dev", "biz"}}, [][2]string{{"web", "db"}}},
		"two siblings":             {[]string{"prod", "dev"}, [][2]string{{"web", "dev"}, {"web", "biz"}, {"dev", "biz"}}, [][2]string{{"web", "db"}}},
		"a leaf":                   {[]string{"web"}, [][2]string{{"web", "db"}, {"web", "biz"}}, [][2]string{{"db", "dev"}, {"web", "web"}}},
		"the root":                 {[]string{"root"}, nil, [][2]string{{"web", "biz"}, {"web", "dev"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var f quota.Fences
			f.Reset(ix.Tree, func(q index.Queue) bool { return slices.Contains(test.fenced, ix.Name(q)) })
			for _, pair := range test.separated {
				assert.True(t, f.Separate(lookup(t, ix, pair[0]), lookup(t, ix, pair[1])), pair)
				assert.True(t, f.Separate(lookup(t, ix, pair[1]), lookup(t, ix, pair[0])), pair)
			}
			for _, pair := range test.joined {
				assert.False(t, f.Separate(lookup(t, ix, pair[0]), lookup(t, ix, pair[1])), pair)
			}
			inside := slices.ContainsFunc([]string{"dev", "eng", "root"}, func(name string) bool { return slices.Contains(test.fenced, name) })
			assert.Equal(t, inside, f.Separate(lookup(t, ix, "dev"), index.None), "a reclaimer without a queue")
		})
	}
	assert.False(t, (&quota.Fences{}).Separate(1, 2))
}

// TestFencesByDefinition compares with the definition: a fence is on one of two paths.
func TestFencesByDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0))
	var f quota.Fences
	for range 300 {
		ix := randomTree(r, 9)
		fenced := map[index.Queue]bool{}
		for q := range index.Queue(ix.Len()) {
			fenced[q] = r.IntN(4) == 0
		}
		f.Reset(ix.Tree, func(q index.Queue) bool { return fenced[q] })
		for x := range index.Queue(ix.Len()) {
			for y := range index.Queue(ix.Len()) {
				between := func(path, other []index.Queue) bool {
					return slices.ContainsFunc(path, func(q index.Queue) bool { return fenced[q] && !slices.Contains(other, q) })
				}
				want := between(ix.Path(x), ix.Path(y)) || between(ix.Path(y), ix.Path(x))
				assert.Equal(t, want, f.Separate(x, y), "%s, %s", ix.Name(x), ix.Name(y))
			}
		}
	}
}
