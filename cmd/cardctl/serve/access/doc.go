// Package access decides who sees which pages of cardctl serve in a cluster.
//
// A request carries a bearer token of the cluster: in its Authorization header, as programs and
// authenticating proxies send it, or in a cookie that the login page sets. The API server
// says by TokenReview whose the token is, and by SubjectAccessReview what its user may list:
//
//	queues.scheduling.volcano.sh    the pages
//	pods, of a namespace or of all  the jobs of the namespace by name
//	nodes                           the names of nodes
//
// Without an answer of the API server, nothing is shown.
package access
