package access

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/serve"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
)

const (
	loginPath  = "/login"
	logoutPath = "/logout"
	// cookieName has the prefix with which browsers keep a cookie only if it is secure and belongs to
	// this host alone.
	cookieName = "__Host-cardctl-token"
	// mostToken bounds a token in a cookie: browsers keep 4 KiB with the name.
	mostToken = 4096 - len(cookieName)
	// mostForm bounds the body of the login form.
	mostForm = 16 << 10
)

// tokens matches the texts that may stand in an Authorization header (RFC 6750).
var tokens = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// tokenOf returns the bearer token of a request: the Authorization header has it or, without this
// header, the cookie.
func tokenOf(r *http.Request) string {
	scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " ")
	if found && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}

	if cookie, err := r.Cookie(cookieName); err == nil {
		return cookie.Value
	}
	return ""
}

// setToken keeps a token in the browser until it is closed. Scripts cannot read it, and requests
// from other sites do not have it. An empty token removes it.
func setToken(w http.ResponseWriter, token string) {
	cookie := &http.Cookie{
		Name:     cookieName,
		Value:    token,
		Path:     "/",
		Secure:   true,
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}

	if token == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// after returns the page to which the login leads. It is a path: a link to the login page cannot
// lead to another site.
func after(r *http.Request) string {
	parsed, err := url.Parse(r.FormValue("next"))
	if err != nil {
		return "/"
	}
	return (&url.URL{Path: "/" + strings.TrimLeft(parsed.Path, `/\`), RawQuery: parsed.RawQuery}).String()
}

// form is the content of the login page.
type form struct {
	Next    string // where the login leads
	Message string // the problem
}

func (g *Gate) show(w http.ResponseWriter, r *http.Request, status int, body form) {
	frame := &page.Frame{
		Name:   "login",
		Path:   loginPath,
		Query:  r.URL.Query(),
		Accept: r.Header.Get("Accept-Language"),
		Still:  true,
		Body:   body,
	}

	if err := page.Write(w, status, frame); err != nil {
		g.log("error: page %s: %v", frame.Name, err)
	}
}

// showLogin shows the form.
//
// A browser does not send the cookie with the first request after a link on another site. So
// a user who is logged in comes here. The page then leads back, which is a request of
// this site.
func (g *Gate) showLogin(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		w.Header().Set("Refresh", "0; url="+after(r))
	}
	g.show(w, r, http.StatusOK, form{Next: after(r)})
}

// The answers to a login.
const (
	messageInvalid = "The token is not valid."
	messageLong    = "The token is too long for a cookie. A proxy can send it instead, in the header Authorization."
)

// logIn checks the token of the form, and keeps it in the browser.
func (g *Gate) logIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	if err := r.ParseForm(); err != nil {
		g.show(w, r, http.StatusRequestEntityTooLarge, form{Next: "/", Message: messageLong})
		return
	}

	token := strings.TrimSpace(r.PostForm.Get("token"))
	switch {
	case len(token) > mostToken:
		g.show(w, r, http.StatusRequestEntityTooLarge, form{Next: after(r), Message: messageLong})
		return
	case !tokens.MatchString(token):
		g.show(w, r, http.StatusUnauthorized, form{Next: after(r), Message: messageInvalid})
		return
	}

	who, err := g.reviews.user(r.Context(), token, serve.AddressOf(r))
	switch {
	case errors.Is(err, errStrangers):
		g.later(w, r, http.StatusTooManyRequests, messageStrangers)
	case err != nil:
		g.unavailable(w, r, "the token of a login could not be reviewed", err)
	case who == nil:
		g.show(w, r, http.StatusUnauthorized, form{Next: after(r), Message: messageInvalid})
	default:
		setToken(w, token)
		http.Redirect(w, r, after(r), http.StatusSeeOther)
	}
}

// logOut removes the token from the browser.
func (g *Gate) logOut(w http.ResponseWriter, r *http.Request) {
	setToken(w, "")
	http.Redirect(w, r, loginPath, http.StatusSeeOther)
}
