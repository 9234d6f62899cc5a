// Package access decides which pages of cardctl serve a user of a cluster sees.
//
// A request carries a bearer token of the cluster. Programs and authenticating proxies send it in
// the Authorization header. The login page sets it as a cookie. The API server reviews the token
// by TokenReview, and the kinds that its user may list by SubjectAccessReview:
//
//	queues.scheduling.volcano.sh    the pages
//	pods, of a namespace or of all  the jobs of the namespace by name; without queues, a first page with them
//	nodes                           the names of nodes
//
// Without an answer of the API server, nothing is shown.
package access
