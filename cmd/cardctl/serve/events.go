package serve

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// broadcaster tells browsers that there is something new. A client has room for one event,
// which stands for all since the last one that it read, so it needs no queue.
type broadcaster struct {
	patience time.Duration // in which a client has to take what is written to it

	mu      sync.Mutex
	number  uint64
	clients map[chan uint64]bool
}

// mostClients bounds the open streams.
const mostClients = 2000

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

// last is the number of the last event.
func (b *broadcaster) last() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.number
}

// subscribe adds a client, whose page is from the time of an event; nil if there are too many.
func (b *broadcaster) subscribe(after uint64) chan uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.clients) >= mostClients {
		return nil
	}
	client := make(chan uint64, 1)
	if b.number != after {
		client <- b.number
	}
	b.clients[client] = true
	return client
}

func (b *broadcaster) unsubscribe(client chan uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.clients, client)
}

// heartbeat is the time between two writes to a client. A proxy closes a stream that is
// silent for long, and a client that is gone is found by writing to it.
const heartbeat = 20 * time.Second

// ServeHTTP streams the numbers of models until the client is gone, does not read, or the
// server stops.
func (b *broadcaster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
	client := b.subscribe(after)
	if client == nil {
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many open pages", http.StatusServiceUnavailable)
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
			return
		case number := <-client:
			ok = send(fmt.Sprintf("event: reading\nid: %d\ndata: %d\n\n", number, number))
		case <-alive.C:
			ok = send(": alive\n\n")
		}
	}
}

// open counts the open streams.
func (b *broadcaster) open() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.clients)
}
