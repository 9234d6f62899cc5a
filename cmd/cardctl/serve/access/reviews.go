package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	authentication "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	tokencache "k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/client-go/kubernetes"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

const (
	// CacheTime is the lifetime of a cached review. A user keeps a revoked permission
	// for as long.
	CacheTime = time.Minute
	// reviewTime bounds the time of one review.
	reviewTime = 10 * time.Second
	// Once in CacheTime, a viewer causes a review of the token, of queues and of nodes, and
	// one for each namespace with jobs. Each kind has a limiter of its own.
	reviewQPS, reviewBurst = 200, 400
	// knownTime is the time for which a token that was valid is not one of a stranger.
	knownTime = 24 * time.Hour
	// mostTokens bounds the tokens that are remembered, as hashes.
	mostTokens = 10_000
)

// errStrangers is the error for a token that is not known while too many such tokens come.
var errStrangers = errors.New("too many tokens that are not known")

// reviews asks the API server for the user of a token and for its permissions. Answers are kept
// for CacheTime, errors are not. Unknown tokens have limits of their own, so that
// nobody waits behind them.
type reviews struct {
	tokens      authenticator.Token
	permissions authorizer.Authorizer

	cacheTime time.Duration
	strangers *strangers
	log       *strangersLog
	known     *cache.LRUExpireCache // hashes of tokens that were valid
	invalid   *cache.LRUExpireCache // hashes of tokens that were not, for cacheTime
}

// newReviews returns reviews by the API server of a cluster. cacheTime is CacheTime, except in
// tests.
func newReviews(config *rest.Config, cacheTime time.Duration, c clock.PassiveClock, log Log) (*reviews, error) {
	r := &reviews{
		cacheTime: cacheTime,
		strangers: newStrangers(c),
		log:       &strangersLog{clock: c, log: log},
		known:     cache.NewLRUExpireCacheWithClock(mostTokens, c),
		invalid:   cache.NewLRUExpireCacheWithClock(mostTokens, c),
	}

	ofTokens, err := clientOf(config, reviewQPS, reviewBurst)
	if err != nil {
		return nil, err
	}
	ofStrangers, err := clientOf(config, -1, 0) // strangers limits them
	if err != nil {
		return nil, err
	}
	ofPermissions, err := clientOf(config, reviewQPS, reviewBurst)
	if err != nil {
		return nil, err
	}

	review := tokenReviews{
		known:    r.known,
		client:   ofTokens.AuthenticationV1().TokenReviews(),
		stranger: ofStrangers.AuthenticationV1().TokenReviews(),
	}
	r.tokens = tokencache.New(review, false, cacheTime, cacheTime)
	r.permissions, err = authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: ofPermissions.AuthorizationV1(),
		AllowCacheTTL:             cacheTime,
		DenyCacheTTL:              cacheTime,
		// Viewers wait for the answer, so a longer outage is reported.
		WebhookRetryBackoff: &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 3},
	}.New()
	return r, err
}

// clientOf returns a client with a limiter of its own, and with none if qps is negative.
func clientOf(config *rest.Config, qps float32, burst int) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.QPS = qps
	config.Burst = burst
	config.Timeout = reviewTime
	return kubernetes.NewForConfig(config)
}

// tokenReviews authenticates by TokenReview. Unlike the authenticator of k8s.io/apiserver, it
// returns an error only where there was no review. So an invalid token differs from an
// outage, and is cached.
type tokenReviews struct {
	known            *cache.LRUExpireCache
	client, stranger authenticationclient.TokenReviewInterface
}

// AuthenticateToken returns the user of a token.
func (t tokenReviews) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	client := t.stranger
	if _, known := t.known.Get(sha256.Sum256([]byte(token))); known {
		client = t.client
	}

	request := &authentication.TokenReview{Spec: authentication.TokenReviewSpec{Token: token}}
	review, err := client.Create(ctx, request, metav1.CreateOptions{})
	if err != nil || !review.Status.Authenticated {
		return nil, false, err
	}

	who := review.Status.User
	extra := map[string][]string{}
	for key, values := range who.Extra {
		extra[key] = values
	}
	info := &user.DefaultInfo{Name: who.Username, UID: who.UID, Groups: who.Groups, Extra: extra}
	return &authenticator.Response{User: info}, true, nil
}

// user returns the user of a token from an address, and nil if the token is not valid.
func (r *reviews) user(ctx context.Context, token, address string) (user.Info, error) {
	hash := sha256.Sum256([]byte(token))
	if _, invalid := r.invalid.Get(hash); invalid {
		r.log.add(address, true)
		return nil, nil
	}
	if _, known := r.known.Get(hash); !known && !r.strangers.admit(address) {
		r.log.add(address, false)
		return nil, errStrangers
	}

	response, ok, err := r.tokens.AuthenticateToken(ctx, token)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		r.known.Remove(hash)
		r.invalid.Add(hash, nil, r.cacheTime)
		r.log.add(address, true)
		return nil, nil
	}

	r.known.Add(hash, nil, knownTime)
	return response.User, nil
}

// mayList reports whether a user may list a resource, in all namespaces if namespace is empty.
func (r *reviews) mayList(ctx context.Context, who user.Info, group, resource, namespace string) (bool, error) {
	decision, _, err := r.permissions.Authorize(ctx, authorizer.AttributesRecord{
		User:            who,
		Verb:            "list",
		APIGroup:        group,
		APIVersion:      "*",
		Resource:        resource,
		Namespace:       namespace,
		ResourceRequest: true,
	})
	return decision == authorizer.DecisionAllow, err
}

// mayGet reports whether a user may get a URL that is no resource.
func (r *reviews) mayGet(ctx context.Context, who user.Info, path string) (bool, error) {
	decision, _, err := r.permissions.Authorize(ctx, authorizer.AttributesRecord{User: who, Verb: "get", Path: path})
	return decision == authorizer.DecisionAllow, err
}
