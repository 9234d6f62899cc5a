package serve

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
)

// Clusters are the servers of several clusters behind one address. Each has its pages below a path of its own, and
// reads its cluster on its own: a cluster that does not answer is an error on its pages alone.
type Clusters []*Server

// NewClusters returns the servers of clusters. Each has a name, and none authenticates requests.
func NewClusters(all []Options) Clusters {
	var servers Clusters
	for _, o := range all {
		servers = append(servers, New(o))
	}
	for _, s := range servers {
		s.all = servers
	}
	return servers
}

// clusterPath is before the name of a cluster in the paths of its pages.
const clusterPath = "/cluster/"

// Handler returns the handler of all paths. The first page is about the first cluster.
func (c Clusters) Handler() http.Handler {
	pages := map[string]http.Handler{}
	for _, s := range c {
		pages[s.options.Cluster] = s.Handler()
	}

	all := http.NewServeMux()
	all.HandleFunc(clusterPath+"{name}/", func(w http.ResponseWriter, r *http.Request) {
		cluster := pages[r.PathValue("name")]
		if cluster == nil {
			http.Error(w, "there is no such cluster", http.StatusNotFound)
			return
		}
		cluster.ServeHTTP(w, withoutCluster(r))
	})
	all.Handle("GET /{$}", http.RedirectHandler(c[0].base()+"/", http.StatusSeeOther))
	all.Handle("GET /assets/", compress(page.Assets()))
	all.HandleFunc("GET /livez", live)
	all.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		answerReady(w, slices.ContainsFunc(c, (*Server).isReady))
	})
	return secure(loopbackOnly(all))
}

// withoutCluster returns a request for a page of a cluster as the server of this cluster has the page. The name of a
// cluster can have a slash, which is escaped.
func withoutCluster(r *http.Request) *http.Request {
	named := strings.TrimPrefix(r.URL.EscapedPath(), clusterPath)
	_, path, _ := strings.Cut(named, "/")

	own := r.Clone(r.Context())
	own.URL.RawPath = "/" + path
	own.URL.Path, _ = url.PathUnescape(own.URL.RawPath) // the router has parsed it
	return own
}

// Serve reads the clusters side by side and answers requests until ctx is done.
func (c Clusters) Serve(ctx context.Context, listener net.Listener) error {
	return answer(ctx, listener, c.Handler(), c.run)
}

func (c Clusters) run(ctx context.Context) {
	var reading wait.Group
	for _, s := range c {
		reading.StartWithContext(ctx, s.Run)
	}
	reading.Wait()
}

// base is before the paths of the pages of a cluster among several. It is "" for one cluster.
func (s *Server) base() string {
	if s.options.Cluster == "" {
		return ""
	}
	return clusterPath + url.PathEscape(s.options.Cluster)
}

// clusters returns the choice of clusters on the page of a view. An object of one cluster is unknown in the others.
func (s *Server) clusters(v view) (all []page.Cluster) {
	path := v.path
	if isOfOne(v) || v.make == nil {
		path = "/"
	}

	for _, other := range s.all {
		all = append(all, page.Cluster{
			Name:    other.options.Cluster,
			Base:    other.base(),
			Path:    path,
			Current: other == s,
			Away:    other.keeper.now().err != nil,
		})
	}
	return all
}
