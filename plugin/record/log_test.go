package record

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/klog/v2"
)

// TestWarningsOnce logs a warning once, and bounds the memory of warnings.
func TestWarningsOnce(t *testing.T) {
	var logged bytes.Buffer
	klog.LogToStderr(false)
	klog.SetOutput(&logged)
	t.Cleanup(func() { klog.SetOutput(io.Discard) })
	var w Log
	w.Once("capacity", "a")
	w.Once("capacity", "b")
	klog.Flush()
	text := logged.String()
	assert.Contains(t, text, "[capacity] a")
	assert.Contains(t, text, "[capacity] b")
	w.Once("capacity", "a")
	w.Once("capacity", "b")
	klog.Flush()
	assert.Equal(t, text, logged.String(), "a warning is logged again")
	assert.Equal(t, 2, w.Len())
	for i := range 2 * maxWarnings {
		w.Once("capacity", fmt.Sprint(i))
		assert.LessOrEqual(t, w.Len(), maxWarnings)
	}
}
