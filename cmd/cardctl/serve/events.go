package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// ErrNoAccess is the cause with which access ends the context of a request after its token became
// invalid.
var ErrNoAccess = errors.New("the token is not valid any more")

// broadcaster tells browsers that there is a new model. A client has room for one event, which
// stands for all events since the last one that it read, so it needs no queue.
type broadcaster struct {
	patience time.Duration // in which a client has to take the written bytes

	mu      sync.Mutex
	number  uint64
	clients map[chan uint64]string // the owners of the open streams
	streams map[string]int         // the number of open streams by owner
}

// The bounds of the open streams: of all streams, and of one user. Where users have no names, an address counts as a
// user.
const (
	mostClients   = 2000
	mostOfOneUser = 50
)

var (
	errPages     = errors.New("too many pages are open")
	errYourPages = errors.New("you have too many open pages")
)

func newBroadcaster() *broadcaster {
	return &broadcaster{patience: eventTime, clients: map[chan uint64]string{}, streams: map[string]int{}}
}

func (b *broadcaster) publish() {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.number++

	for client := range b.clients {
		select {
		case <-client: // an older number that nobody has read
		default:
		}
		client <- b.number
	}
}

// last returns the number of the last event.
func (b *broadcaster) last() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.number
}

// subscribe adds a client of an owner. Its page is from the time of an event.
func (b *broadcaster) subscribe(owner string, after uint64) (chan uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	switch {
	case b.streams[owner] >= mostOfOneUser:
		return nil, errYourPages
	case len(b.clients) >= mostClients:
		return nil, errPages
	}

	client := make(chan uint64, 1)
	if b.number != after {
		client <- b.number
	}

	b.clients[client] = owner
	b.streams[owner]++
	return client, nil
}

func (b *broadcaster) unsubscribe(client chan uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()

	owner := b.clients[client]
	delete(b.clients, client)
	b.streams[owner]--
	if b.streams[owner] == 0 {
		delete(b.streams, owner)
	}
}

// ownerOf returns the owner of a stream: the user or, where users have no names, the address.
func ownerOf(r *http.Request) string {
	if name := ViewerOf(r.Context()).Name(); name != "" {
		return "user " + name
	}
	return "address " + AddressOf(r)
}

// heartbeat is the time between two writes to a client. A proxy closes a stream that is
// silent for long. A write also finds clients that are gone.
const heartbeat = 20 * time.Second

// ServeHTTP streams the numbers of models. It ends when the client is gone, does not read, or loses its
// access, or when the server stops.
func (b *broadcaster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
	client, err := b.subscribe(ownerOf(r), after)
	if err != nil {
		w.Header().Set("Retry-After", "30")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer b.unsubscribe(client)

	w.Header().Set("Content-Type", "text/event-stream")

	control := http.NewResponseController(w)
	send := func(text string) bool {
		if control.SetWriteDeadline(time.Now().Add(b.patience)) != nil {
			return false
		}
		_, err := fmt.Fprint(w, text)
		return err == nil && control.Flush() == nil
	}

	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	for ok := send("retry: 2000\n\n"); ok; {
		select {
		case <-r.Context().Done():
			if errors.Is(context.Cause(r.Context()), ErrNoAccess) {
				// The page loads itself again, and goes to the login.
				send(reading(b.last()))
			}
			return
		case number := <-client:
			ok = send(reading(number))
		case <-alive.C:
			ok = send(": alive\n\n")
		}
	}
}

// reading returns the event of a model.
func reading(number uint64) string {
	return fmt.Sprintf("event: reading\nid: %d\ndata: %d\n\n", number, number)
}

// open counts the open streams.
func (b *broadcaster) open() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.clients)
}
