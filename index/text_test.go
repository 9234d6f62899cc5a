package index_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/index"
)

func TestShortenCutsAtRunes(t *testing.T) {
	assert.Equal(t, "", index.Shorten("", 0))
	assert.Equal(t, strings.Repeat("x", 100), index.Shorten(strings.Repeat("x", 100), 100))
	assert.Equal(t, strings.Repeat("x", 100)+"…", index.Shorten(strings.Repeat("x", 101), 100))
	assert.Equal(t, strings.Repeat("卡", 33)+"…", index.Shorten(strings.Repeat("卡", 40), 100), "byte 100 is inside of a rune")
	assert.Equal(t, "…", index.Shorten(strings.Repeat("\x80", 101), 100), "no rune begins anywhere")
}
