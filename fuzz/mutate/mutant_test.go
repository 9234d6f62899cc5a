package mutate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	mutants, err := parse("# why\n\nquota.Fits  boundary 2  quota TestFits/no_room\nquota.Fits drop 1 fuzz FuzzOracle\n")
	require.NoError(t, err)
	assert.Equal(t, []mutant{
		{1, "quota.Fits", "boundary", 2, "quota", "TestFits/no_room"},
		{2, "quota.Fits", "drop", 1, "fuzz", "FuzzOracle"},
	}, mutants)

	for text, says := range map[string]string{
		"quota.Fits drop 1 quota":                                "want a function",
		"quota.Fits drop one quota TestFits":                     "the place",
		"quota.Fits drop 1 quota A\nquota.Fits drop 1 quota B\n": "twice",
	} {
		_, err := parse(text)
		assert.ErrorContains(t, err, says, text)
	}
}

func TestPattern(t *testing.T) {
	assert.Equal(t, "^TestFits$", pattern("TestFits"))
	assert.Equal(t, `^TestFits$/^a\.b$`, pattern("TestFits/a.b"))
}
