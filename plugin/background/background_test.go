package background

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTask starts a function while another one runs, and lets eleven fail.
func TestTask(t *testing.T) {
	var task Task
	proceed := make(chan struct{})
	runs := 0
	task.Start(func() error {
		<-proceed
		runs++
		return nil
	})
	assert.True(t, task.Busy())
	task.Start(func() error {
		runs += 10
		return nil
	})
	close(proceed)
	task.Wait()
	assert.False(t, task.Busy())
	assert.Equal(t, 1, runs)
	assert.Empty(t, task.Problems())

	for i := range mostProblems + 1 {
		task.Start(func() error { return fmt.Errorf("problem %d", i) })
		task.Wait()
	}
	problems := task.Problems()
	assert.Len(t, problems, mostProblems)
	assert.Equal(t, "problem 0", problems[0])
	assert.Empty(t, task.Problems())

	task.Start(func() error { return errors.New("another one") })
	task.Wait()
	assert.Equal(t, []string{"another one"}, task.Problems())
}
