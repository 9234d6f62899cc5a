package input

import (
	"errors"
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// prompt reports at once that a connection was lost. client-go repeats such a request ten times
// in as many seconds, and takes it for the end of a watch, before anybody learns of it.
type prompt struct{ next http.RoundTripper }

// RoundTrip returns errors that client-go does not know.
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
