package access

import (
	"context"
	"time"

	authentication "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/client-go/kubernetes"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
)

const (
	// CacheTime is the lifetime of a cached review. What is revoked can be seen
	// for as long.
	CacheTime = time.Minute
	// reviewTime bounds the time of one review.
	reviewTime = 10 * time.Second
	// Once in CacheTime, a viewer causes a review of the token, of queues and of nodes, and
	// one for each namespace with jobs.
	reviewQPS, reviewBurst = 200, 400
)

// reviews asks the API server whose a token is, and what its user may do. Answers are kept
// for CacheTime, errors are not.
type reviews struct {
	tokens      authenticator.Token
	permissions authorizer.Authorizer
}

// newReviews returns reviews by the API server of a cluster. cacheTime is CacheTime, but in
// tests.
func newReviews(config *rest.Config, cacheTime time.Duration) (*reviews, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.Timeout = reviewQPS, reviewBurst, reviewTime
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	permissions, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(),
		AllowCacheTTL:             cacheTime,
		DenyCacheTTL:              cacheTime,
		// Viewers wait for the answer, so a longer outage is reported.
		WebhookRetryBackoff: &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 3},
	}.New()
	tokens := cache.New(tokenReviews{client.AuthenticationV1().TokenReviews()}, false, cacheTime, cacheTime)
	return &reviews{tokens: tokens, permissions: permissions}, err
}

// tokenReviews authenticates by TokenReview. Unlike the authenticator of k8s.io/apiserver, it
// returns an error only where there was no review. So an invalid token differs from an
// outage, and is cached.
type tokenReviews struct {
	client authenticationclient.TokenReviewInterface
}

// AuthenticateToken returns whose a token is.
func (t tokenReviews) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	review, err := t.client.Create(ctx, &authentication.TokenReview{Spec: authentication.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil || !review.Status.Authenticated {
		return nil, false, err
	}
	who := review.Status.User
	extra := map[string][]string{}
	for key, values := range who.Extra {
		extra[key] = values
	}
	return &authenticator.Response{User: &user.DefaultInfo{Name: who.Username, UID: who.UID, Groups: who.Groups, Extra: extra}}, true, nil
}

// user returns whose a token is, and nil if it is not valid.
func (r *reviews) user(ctx context.Context, token string) (user.Info, error) {
	response, ok, err := r.tokens.AuthenticateToken(ctx, token)
	if err != nil || !ok {
		return nil, err
	}
	return response.User, nil
}

// mayList reports whether a user may list a resource, in all namespaces if namespace is empty.
func (r *reviews) mayList(ctx context.Context, who user.Info, group, resource, namespace string) (bool, error) {
	decision, _, err := r.permissions.Authorize(ctx, authorizer.AttributesRecord{
		User: who, Verb: "list", APIGroup: group, APIVersion: "*", Resource: resource, Namespace: namespace, ResourceRequest: true,
	})
	return decision == authorizer.DecisionAllow, err
}
