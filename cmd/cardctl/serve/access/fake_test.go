package access

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
)

// apiServer answers reviews.
type apiServer struct {
	t     *testing.T
	mu    sync.Mutex
	users map[string]string // the user of each token that is valid
	may   map[string]bool   // "user resource.group namespace" or "user /path", or a group of the user
	// down is the status of answers if it is set: of all, or of the reviews with this name.
	down   int
	broken string
	asked  int
	// before is called with each token before its review, if it is set.
	before func(token string)
}

// newAPIServer returns an API server in which ann may list everything, ben the queues and, as a member of team-ben, the
// pods of a namespace, and cleo nothing, but cleo may get the metrics. The token of a user is the name with "-token".
func newAPIServer(t *testing.T) (*apiServer, *rest.Config) {
	a := &apiServer{t: t, users: map[string]string{"ann-token": "ann", "ben-token": "ben", "cleo-token": "cleo"}, may: map[string]bool{
		"ann queues.scheduling.volcano.sh ": true, "ann pods. ": true, "ann nodes. ": true,
		"ben queues.scheduling.volcano.sh ": true, "team-ben pods. bens": true, "cleo /metrics": true,
	}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return a, &rest.Config{Host: server.URL, BearerToken: "own", ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// change changes the answers of the API server.
func (a *apiServer) change(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// requests is the number of reviews so far.
func (a *apiServer) requests() (n int) {
	a.change(func() { n = a.asked })
	return n
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.announce(r)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	assert.Equal(a.t, http.MethodPost, r.Method)
	assert.Equal(a.t, "Bearer own", r.Header.Get("Authorization"), "the token of a viewer is sent for review, and not used")
	w.Header().Set("Content-Type", "application/json")
	if a.down != 0 && strings.Contains(r.URL.Path, a.broken) {
		w.WriteHeader(a.down)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"etcd is away"}`))
		return
	}
	w.WriteHeader(http.StatusCreated)
	if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
		a.answer(w, a.reviewToken(r))
		return
	}
	var review authorization.SubjectAccessReview
	assert.NoError(a.t, json.NewDecoder(r.Body).Decode(&review))
	asked := ""
	if of := review.Spec.ResourceAttributes; of != nil {
		assert.Equal(a.t, "list", of.Verb)
		asked = of.Resource + "." + of.Group + " " + of.Namespace
	} else {
		assert.Equal(a.t, "get", review.Spec.NonResourceAttributes.Verb)
		asked = review.Spec.NonResourceAttributes.Path
	}
	for _, subject := range append(review.Spec.Groups, review.Spec.User) {
		review.Status.Allowed = review.Status.Allowed || a.may[subject+" "+asked]
	}
	a.answer(w, review)
}

// announce calls before, which may wait.
func (a *apiServer) announce(r *http.Request) {
	var before func(string)
	a.change(func() { before = a.before })
	if before == nil || !strings.HasSuffix(r.URL.Path, "/tokenreviews") {
		return
	}
	body, err := io.ReadAll(r.Body)
	assert.NoError(a.t, err)
	var review authentication.TokenReview
	assert.NoError(a.t, json.Unmarshal(body, &review))
	r.Body = io.NopCloser(bytes.NewReader(body))
	before(review.Spec.Token)
}

// reviewToken answers as the API server does: an invalid token has a text.
func (a *apiServer) reviewToken(r *http.Request) authentication.TokenReview {
	var review authentication.TokenReview
	assert.NoError(a.t, json.NewDecoder(r.Body).Decode(&review))
	name := a.users[review.Spec.Token]
	review.Status = authentication.TokenReviewStatus{Authenticated: name != "", User: authentication.UserInfo{Username: name, Groups: []string{"team-" + name}}}
	if name == "" {
		review.Status.Error = "[invalid bearer token, token lookup failed]"
	}
	return review
}

func (a *apiServer) answer(w http.ResponseWriter, review any) {
	assert.NoError(a.t, json.NewEncoder(w).Encode(review))
}
