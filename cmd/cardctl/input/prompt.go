package input

import (
	"errors"
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// prompt reports a lost connection immediately. client-go repeats such a request for ten seconds, and treats the loss
// as the end of a watch.
type prompt struct{ next http.RoundTripper }

// RoundTrip replaces the errors that client-go would hide.
func (p prompt) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := p.next.RoundTrip(r)
	switch {
	case err == nil || r.Context().Err() != nil:
		return response, err
	case utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err):
		return nil, errors.New("the connection was closed")
	case utilnet.IsTimeout(err):
		return nil, errors.New(lastPart(err))
	}

	return response, err
}
