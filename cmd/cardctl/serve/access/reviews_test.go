package access

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"
)

// TestReviews expects one request for each question as long as the answer counts, also for
// an invalid token.
func TestReviews(t *testing.T) {
	server, config := newAPIServer(t)
	r, err := newReviews(config, time.Hour, clock.RealClock{}, t.Logf)
	require.NoError(t, err)
	var ben user.Info
	for range 3 {
		ben, err = r.user(t.Context(), "ben-token", "address")
		require.NoError(t, err)
		require.Equal(t, "ben", ben.GetName())
		unknown, err := r.user(t.Context(), "guess", "address")
		require.NoError(t, err)
		require.Nil(t, unknown)
	}
	assert.Equal(t, 2, server.requests())
	for namespace, want := range map[string]bool{"bens": true, "anns": false, "": false} {
		for range 3 {
			may, err := r.mayList(t.Context(), ben, "", "pods", namespace)
			require.NoError(t, err)
			assert.Equal(t, want, may, namespace)
		}
	}
	assert.Equal(t, 5, server.requests())
}

// TestReviewsFail expects an error, and no memory of it, while the API server does not answer.
func TestReviewsFail(t *testing.T) {
	for _, status := range []int{http.StatusInternalServerError, http.StatusForbidden, http.StatusTooManyRequests} {
		server, config := newAPIServer(t)
		r, err := newReviews(config, time.Hour, clock.RealClock{}, t.Logf)
		require.NoError(t, err)
		server.change(func() { server.down = status })
		_, err = r.user(t.Context(), "ann-token", "address")
		require.Error(t, err)
		may, err := r.mayList(t.Context(), &user.DefaultInfo{Name: "ann"}, "", "pods", "")
		require.Error(t, err)
		assert.False(t, may)

		server.change(func() { server.down = 0 })
		who, err := r.user(t.Context(), "ann-token", "address")
		require.NoError(t, err)
		assert.Equal(t, "ann", who.GetName())
		may, err = r.mayList(t.Context(), who, "", "pods", "")
		require.NoError(t, err)
		assert.True(t, may)
	}
}
